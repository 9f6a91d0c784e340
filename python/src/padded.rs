//! Prompts side by side, in arrays that NumPy allocates: for large ones it asks the system for large pages.

use metatok::batch::{Dtype, Padding, PaddingSide};
use metatok::builder::IGNORE_INDEX;
use numpy::{Element, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// The ids, a row for each prompt, and ones where they are not padding. `dtype` is the type's name.
///
/// # Errors
/// `UsageError` if no row can be that long, `MemoryError` if there is not enough memory.
pub(crate) fn padded<'py, N: Dtype + Element>(
    py: Python<'py>,
    prompts: &[Vec<u32>],
    padding: Padding,
    dtype: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let width = width(py, prompts, padding)?;
    let zeros = || py.import("numpy")?.call_method1("zeros", ((prompts.len(), width), dtype));
    let (ids, mask) = (zeros()?, zeros()?);
    fill::<N, _>(&ids, prompts, width, |row, prompt| {
        let (before, own, after) = parts(row, prompt.len(), padding.padding_side);
        before.fill(N::of(padding.pad_token_id));
        own.iter_mut().zip(prompt).for_each(|(place, &id)| *place = N::of(id));
        after.fill(N::of(padding.pad_token_id));
    })?;
    // Zeros that nobody writes take no memory.
    fill::<N, _>(&mask, prompts, width, |row, prompt| parts(row, prompt.len(), padding.padding_side).1.fill(N::of(1)))?;
    Ok((ids, mask))
}

/// The labels of prompts, a row for each, and -100 where their padding is.
///
/// # Errors
/// As for [`padded`].
pub(crate) fn padded_labels<'py>(
    py: Python<'py>,
    labels: &[Vec<i64>],
    padding: Padding,
) -> PyResult<Bound<'py, PyAny>> {
    let width = width(py, labels, padding)?;
    let rows = py.import("numpy")?.call_method1("full", ((labels.len(), width), IGNORE_INDEX, "int64"))?;
    fill::<i64, _>(&rows, labels, width, |row, labels| {
        parts(row, labels.len(), padding.padding_side).1.copy_from_slice(labels);
    })?;
    Ok(rows)
}

/// How long all rows are.
fn width<T>(py: Python<'_>, rows: &[Vec<T>], padding: Padding) -> PyResult<usize> {
    padding.width(rows.iter().map(Vec::len).max().unwrap_or(0)).or_raise(py)
}

/// The padding before a prompt, its place, and the padding after it.
fn parts<N>(row: &mut [N], length: usize, side: PaddingSide) -> (&mut [N], &mut [N], &mut [N]) {
    let start = if side == PaddingSide::Left { row.len() - length } else { 0 };
    let (before, rest) = row.split_at_mut(start);
    let (own, after) = rest.split_at_mut(length);
    (before, own, after)
}

/// About how many numbers are filled before it is asked whether the user wants to stop.
const AT_ONCE: usize = 1 << 24;

/// Fills the rows of an array of this width, without the interpreter's lock.
///
/// # Errors
/// `KeyboardInterrupt`.
fn fill<N: Element, T: Sync>(
    array: &Bound<'_, PyAny>,
    prompts: &[Vec<T>],
    width: usize,
    fill: impl Fn(&mut [N], &[T]) + Sync,
) -> PyResult<()> {
    let py = array.py();
    let mut array = array.cast::<PyArray2<N>>()?.readwrite();
    let rows = array.as_slice_mut()?;
    // Rows without columns have nothing to fill.
    let width = width.max(1);
    let at_once = (AT_ONCE / width).max(1);
    for (rows, prompts) in rows.chunks_mut(at_once * width).zip(prompts.chunks(at_once)) {
        py.detach(|| rows.chunks_exact_mut(width).zip(prompts).for_each(|(row, prompt)| fill(row, prompt)));
        py.check_signals()?;
    }
    Ok(())
}
