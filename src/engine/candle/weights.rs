//! A checkpoint: the tensors of its safetensors files by name, and its config.json.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use candle_core::safetensors::SliceSafetensors;
use candle_core::{DType, Device, Tensor};
use serde::Deserialize;

use super::failed::failed;
use crate::error::{At, ErrorKind, Place, Result, counted};
use crate::tokenizer::{find_model_file, model_file};

const CONFIG: &str = "config.json";
const GENERATION_CONFIG: &str = "generation_config.json";
const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Which tensor is in which file.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The tensors that were not used yet.
pub(super) struct Weights {
    tensors: BTreeMap<String, Tensor>,
}

/// The bytes of config.json.
pub(super) fn config(name: &str) -> Result<Vec<u8>> {
    if name == "demo" {
        return Ok(include_bytes!("../../../models/demo/config.json").to_vec());
    }
    let path = model_file(name, CONFIG)?;
    std::fs::read(&path).at(path.display())
}

/// The bytes of generation_config.json, if there is one, with its place.
pub(super) fn generation_config(name: &str) -> Result<Option<(String, Vec<u8>)>> {
    if name == "demo" {
        let json = include_bytes!("../../../models/demo/generation_config.json").to_vec();
        return Ok(Some((GENERATION_CONFIG.to_owned(), json)));
    }
    let Some(path) = find_model_file(name, GENERATION_CONFIG)? else { return Ok(None) };
    let place = path.display().to_string();
    let json = std::fs::read(&path).at(&place)?;
    Ok(Some((place, json)))
}

/// Every file that is read; none for the demo, whose files are embedded.
pub(super) fn files(name: &str) -> Result<Vec<PathBuf>> {
    let mut files = tensor_files(name)?;
    if name != "demo" {
        files.push(model_file(name, CONFIG)?);
    }
    Ok(files)
}

/// The files of tensors; none for the demo.
fn tensor_files(name: &str) -> Result<Vec<PathBuf>> {
    if name == "demo" {
        return Ok(Vec::new());
    }
    let files: BTreeSet<String> = match find_model_file(name, INDEX)? {
        None => [SINGLE.to_owned()].into(),
        Some(path) => {
            let json = std::fs::read(&path).at(path.display())?;
            let index: Result<Index> =
                serde_json::from_slice(&json).map_err(|error| crate::wording::in_file(&error).into());
            index.at(path.display())?.weight_map.into_values().collect()
        }
    };
    let path_of = |file: String| {
        if Path::new(&file).file_name().is_none_or(|name| name != file.as_str()) {
            let what = format!("weight_map names {file:?}, but there is no such file next to it");
            return Err(ErrorKind::Invalid(what)).at(Place::file(INDEX));
        }
        model_file(name, &file)
    };
    files.into_iter().map(path_of).collect()
}

impl Weights {
    #[cfg(test)]
    pub(super) fn of(tensors: Vec<(String, Tensor)>) -> Self {
        Self { tensors: tensors.into_iter().collect() }
    }

    pub(super) fn load(name: &str, device: &Device) -> Result<Self> {
        let mut weights = Self { tensors: BTreeMap::new() };
        if name == "demo" {
            weights.read(include_bytes!("../../../models/demo/model.safetensors"), device)?;
        }
        for path in tensor_files(name)? {
            let bytes = std::fs::read(&path).at(path.display())?;
            weights.read(&bytes, device).at(path.display())?;
        }
        Ok(weights)
    }

    /// On a CPU, which is slow with small types, all become `f32`.
    fn read(&mut self, bytes: &[u8], device: &Device) -> Result<()> {
        let file = SliceSafetensors::new(bytes).map_err(failed)?;
        for (name, _) in file.tensors() {
            let tensor = file.load(&name, device).map_err(failed).at(&name)?;
            let tensor = if device.is_cpu() { tensor.to_dtype(DType::F32).map_err(failed).at(&name)? } else { tensor };
            self.tensors.insert(name, tensor);
        }
        Ok(())
    }

    /// Rejects more layers than there are.
    pub(super) fn check_layers(&self, asked: usize) -> Result<()> {
        let number = |name: &str| name.strip_prefix("model.layers.")?.split('.').next()?.parse::<usize>().ok();
        let there = self.tensors.keys().filter_map(|name| number(name)).max().map_or(0, |last| last.saturating_add(1));
        if asked <= there {
            return Ok(());
        }
        let what = format!(
            "num_hidden_layers is {asked}, but the weights have {}; use the {CONFIG} that belongs to these weights",
            counted(there, "layer")
        );
        Err(ErrorKind::UnsupportedModel(what).into())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// A tensor with this shape.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.take_any(name)?;
        if tensor.dims() != shape {
            let what = format!("the tensor {name} has the shape {:?}, but {CONFIG} requires {shape:?}", tensor.dims());
            return Err(ErrorKind::UnsupportedModel(what).into());
        }
        Ok(tensor)
    }

    /// A matrix with this many rows and columns, if these are known.
    pub(super) fn take_matrix(&mut self, name: &str, rows: Option<usize>, columns: Option<usize>) -> Result<Tensor> {
        let dims = self.tensors.get(name).map_or(&[][..], |tensor| tensor.dims()).to_vec();
        let place = |i: usize, known: Option<usize>| known.or(dims.get(i).copied()).unwrap_or_default();
        self.take(name, &[place(0, rows), place(1, columns)])
    }

    pub(super) fn take_if_there(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.remove(name)
    }

    fn take_any(&mut self, name: &str) -> Result<Tensor> {
        let what =
            || ErrorKind::UnsupportedModel(format!("the weights have no tensor {name}, which {CONFIG} requires"));
        Ok(self.tensors.remove(name).ok_or_else(what)?)
    }

    /// Rejects weights that were not used: they belong to another model.
    pub(super) fn finish(self) -> Result<()> {
        // Tables that can be computed, in old checkpoints.
        match self.tensors.keys().find(|name| !name.ends_with(".rotary_emb.inv_freq")) {
            None => Ok(()),
            Some(name) => {
                let what = format!("the weights have a tensor {name}, which such a model does not use");
                Err(ErrorKind::UnsupportedModel(what).into())
            }
        }
    }
}
