//! The examples whose words are most similar to a row's: BM25, scored like `rank_bm25`'s `BM25Okapi`.

use foldhash::{HashMap, HashMapExt};
use unicode_segmentation::UnicodeSegmentation;

use crate::dataset::rows::Row;

const K1: f64 = 1.5;
const B: f64 = 0.75;
/// Words in more than half of all rows would count against a row; they get this share of the mean instead.
const EPSILON: f64 = 0.25;

/// The training set's words. Words follow Unicode's rules, while the reference uses NLTK's for English. If scores are
/// equal, the smaller number comes first, while the reference leaves that open.
pub(crate) struct Bm25 {
    /// The place of each word in `words`.
    places: HashMap<String, usize>,
    /// In the order in which the words first appear: it decides how the mean is rounded.
    words: Vec<Word>,
    /// How a row's length affects its frequencies.
    norms: Vec<f64>,
    columns: Vec<String>,
    k: usize,
}

/// A word, with the rows that have it and how often.
#[derive(Default)]
struct Word {
    weight: f64,
    rows: Vec<(usize, f64)>,
}

impl Bm25 {
    pub(crate) fn new(train: &[Row], columns: &[String], k: usize) -> Self {
        let (mut places, mut words) = (HashMap::new(), Vec::<Word>::new());
        let mut lengths = Vec::with_capacity(train.len());
        for (i, row) in train.iter().enumerate() {
            let text = text(row, columns);
            let mut length = 0_u32;
            for word in text.unicode_words() {
                length += 1;
                let place = *places.entry(word.to_owned()).or_insert(words.len());
                if place == words.len() {
                    words.push(Word::default());
                }
                let rows = &mut words[place].rows;
                match rows.last_mut().filter(|(row, _)| *row == i) {
                    Some((_, frequency)) => *frequency += 1.0,
                    None => rows.push((i, 1.0)),
                }
            }
            lengths.push(f64::from(length));
        }
        let count = train.len() as f64;
        for word in &mut words {
            let with = word.rows.len() as f64;
            word.weight = (count - with + 0.5).ln() - (with + 0.5).ln();
        }
        let least = EPSILON * words.iter().map(|word| word.weight).sum::<f64>() / words.len().max(1) as f64;
        words.iter_mut().filter(|word| word.weight < 0.0).for_each(|word| word.weight = least);
        let mean = lengths.iter().sum::<f64>() / count.max(1.0);
        let norm = |length: f64| K1 * (1.0 - B + B * length / mean);
        Self { places, words, norms: lengths.into_iter().map(norm).collect(), columns: columns.to_vec(), k }
    }

    /// The numbers of the rows most similar to this one, the most similar first.
    pub(crate) fn nearest(&self, row: &Row) -> Vec<i64> {
        let mut scores = vec![0.0; self.norms.len()];
        for word in text(row, &self.columns).unicode_words().filter_map(|word| self.places.get(word)) {
            let word = &self.words[*word];
            for &(row, frequency) in &word.rows {
                scores[row] += word.weight * (frequency * (K1 + 1.0) / (frequency + self.norms[row]));
            }
        }
        let mut rows: Vec<usize> = (0..scores.len()).collect();
        rows.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        rows.into_iter().take(self.k).map(|row| row as i64).collect()
    }
}

/// The columns, joined with spaces.
fn text(row: &Row, columns: &[String]) -> String {
    let texts: Vec<_> = columns.iter().filter_map(|column| row.get(column)).map(|value| value.text()).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::rows::Value;

    /// The orders are those of rank_bm25 0.2.2 on the same words.
    #[test]
    fn as_rank_bm25() {
        let row = |text: &str| Row::new(vec![("q".to_owned(), Value::from(text))]);
        let train = [
            "the cat sat on the mat",
            "the dog sat",
            "a cat and a dog and a bird",
            "birds fly over the sea",
            "sea and sky and sea",
        ];
        let index = Bm25::new(&train.map(row), &["q".to_owned()], 5);
        for (text, expected) in [
            ("cat dog", [2, 1, 0, 3, 4]),
            ("the sea", [3, 4, 0, 1, 2]),
            ("a bird", [2, 0, 1, 3, 4]),
            ("fly fly mat", [3, 0, 1, 2, 4]),
            ("nothing", [0, 1, 2, 3, 4]),
        ] {
            assert_eq!(index.nearest(&row(text)), expected, "{text}");
        }
    }

    /// The weight is that of rank_bm25 0.2.2, to the last bit.
    #[test]
    fn the_mean_is_summed_in_the_order_of_words() {
        let train: Vec<Row> = (0..40)
            .map(|i| format!("the w{} x{} y{} z{i}", i % 7, i % 11, i % 5))
            .map(|text| Row::new(vec![("q".to_owned(), Value::from(&*text))]))
            .collect();
        for _ in 0..20 {
            let index = Bm25::new(&train, &["q".to_owned()], 5);
            assert_eq!(index.words[index.places["the"]].weight, 0.6615591948252146);
        }
    }
}
