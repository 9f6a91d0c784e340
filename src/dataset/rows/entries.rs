//! Named values in their order. If a name is repeated, the last value is kept at the first position, as in Python.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Named values, such as the entries of a JSON object or the columns of a row.
#[derive(Debug)]
pub(crate) struct Entries<V> {
    pub(crate) entries: Vec<(String, V)>,
    /// The first name that occurs more than once.
    pub(crate) repeated: Option<String>,
    /// The positions of names, if there are more than a few.
    places: HashMap<String, usize, RandomState>,
}

/// Up to this many names are compared one by one, which is faster than a map.
const FEW: usize = 16;

impl<V> Entries<V> {
    pub(crate) fn push(&mut self, name: String, value: V) {
        match self.place(&name) {
            Some(place) => {
                self.entries[place].1 = value;
                self.repeated.get_or_insert(name);
            }
            None => {
                if self.entries.len() >= FEW {
                    self.places.insert(name.clone(), self.entries.len());
                }
                self.entries.push((name, value));
            }
        }
    }

    pub(crate) fn map<W>(self, map: impl Fn(V) -> W) -> Entries<W> {
        let Self { entries, repeated, places } = self;
        Entries { entries: entries.into_iter().map(|(name, value)| (name, map(value))).collect(), repeated, places }
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if self.entries.len() < FEW {
            return self.entries.iter().position(|(known, _)| known == name);
        }
        if self.places.is_empty() {
            self.places.extend(self.entries.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)));
        }
        self.places.get(name).copied()
    }
}

impl<V> FromIterator<(String, V)> for Entries<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(named: I) -> Self {
        let named = named.into_iter();
        let entries = Vec::with_capacity(named.size_hint().0);
        let mut entries = Self { entries, repeated: None, places: HashMap::default() };
        named.for_each(|(name, value)| entries.push(name, value));
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_keeps_its_last_value_at_its_first_position() {
        for more in [0, FEW - 2, FEW - 1, FEW, 3 * FEW] {
            let between = (0..more).map(|i| (format!("k{i}"), 0));
            let named = [("a".to_owned(), 1)].into_iter().chain(between);
            let named = named.chain([("b", 2), ("a", 3), ("b", 4), ("b", 5)].map(|(name, value)| (name.into(), value)));
            let found: Entries<i32> = named.collect();
            assert_eq!(found.repeated.as_deref(), Some("a"));
            assert_eq!(found.entries.len(), more + 2);
            assert_eq!(found.entries.first(), Some(&("a".to_owned(), 3)));
            assert_eq!(found.entries.last(), Some(&("b".to_owned(), 5)));
        }
    }
}
