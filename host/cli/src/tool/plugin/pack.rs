//! `coxswain plugin pack FILE...`: the ConfigMaps that bring components into a cluster.
//!
//! In: components, optionally settings and vectors of the one, and the keys that sign. Out: YAML for `kubectl apply`. What the
//! operator would refuse is refused here.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use coxswain_model::policy::ClusterPolicy;
use coxswain_sandbox::Sandbox;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kube::api::ObjectMeta;

use super::{
    component::{Component, Named},
    format::Format,
};
use coxswain_plugins::{
    access::Access,
    signature,
    source::{self, LABEL_PLUGIN, PluginRequest, Unusable, WASM, WASM_GZ},
    vectors,
};

/// What the API server takes as the values of one ConfigMap, bytes.
const MAX_CONFIG_MAP: usize = 1 << 20;

/// Arguments of `plugin pack`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    named: Named,
    /// Further components, packed beside the first one; --name, --settings and --vectors go with one component alone.
    #[arg(value_name = "FILE")]
    more: Vec<PathBuf>,
    /// Namespace of the ConfigMap; without it, kubectl's -n decides.
    #[arg(long, short)]
    namespace: Option<String>,
    /// Private key that signs the component, PEM as `openssl genpkey -algorithm ed25519` makes it; may be given
    /// several times.
    #[arg(long, value_name = "KEYFILE")]
    sign: Vec<PathBuf>,
    /// Namespaces whose jobs may use the plugin; one that ends with * stands for all that begin so. Without it, all.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    only_for: Vec<String>,
    /// Have a component that would change the plans of live jobs wait for `coxswain plugin approve`.
    #[arg(long)]
    hold: bool,
    /// Compress the component even if it fits as it is.
    #[arg(long)]
    gzip: bool,
    /// YAML (text) or JSON.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// Packs and prints.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let of_one = arguments.named.flags_of_one();
    ensure!(
        arguments.more.is_empty() || of_one.is_empty(),
        "{} would hold for each of {} components: pack the one that it is meant for by itself",
        of_one.join(" and "),
        arguments.more.len() + 1
    );
    // All of them before the first is printed: what is half a manifest must not be applied.
    let mut maps = vec![packed(&arguments.named, arguments)?];
    for file in &arguments.more {
        maps.push(packed(&Named::file(file.clone()), arguments)?);
    }
    let mut out = io::stdout().lock();
    for map in maps {
        let object = serde_json::to_value(&map).context("writing the ConfigMap")?;
        match arguments.output {
            Format::Text => write!(out, "---\n{}", serde_saphyr::to_string(&object)?)?,
            Format::Json => writeln!(out, "{object}")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn packed(named: &Named, arguments: &Arguments) -> Result<ConfigMap> {
    let component = named.read()?;
    would_serve(&component).with_context(|| format!("packing {}", component.file))?;
    config_map(&component, arguments)
}

/// A component that the operator refuses is not worth shipping.
fn would_serve(component: &Component) -> Result<()> {
    let plugin = component.load(&Sandbox::new()?)?;
    let settings = component.settings.iter();
    let settings: Vec<_> = settings
        .map(|(key, value)| coxswain_model::view::Setting { key: key.clone(), value: value.clone() })
        .collect();
    let violations = plugin.check_settings(&settings)?;
    ensure!(violations.is_empty(), "settings: {}", coxswain_plugins::trial::words(&violations));
    if let Some(vectors) = &component.vectors {
        let failures = vectors::check(&plugin, vectors, &ClusterPolicy::default());
        ensure!(failures.is_empty(), "vectors: {}", failures.join("; "));
    }
    Ok(())
}

fn config_map(component: &Component, arguments: &Arguments) -> Result<ConfigMap> {
    let mut data = BTreeMap::from([("sha256".to_owned(), component.digest.to_string())]);
    data.extend(component.settings_text.clone().map(|text| ("settings".to_owned(), text)));
    if let Some(vectors) = &component.vectors {
        data.insert("vectors".to_owned(), serde_json::to_string_pretty(vectors)?);
    }
    if !arguments.only_for.is_empty() {
        let namespaces = arguments.only_for.join(", ");
        Access::read(&namespaces).map_err(|Unusable(why)| anyhow::anyhow!(why))?;
        data.insert("namespaces".to_owned(), namespaces);
    }
    if arguments.hold {
        data.insert("onChange".to_owned(), "hold".to_owned());
    }
    let signatures = signatures(component, &arguments.sign)?;
    if !signatures.is_empty() {
        data.insert("signature".to_owned(), signatures);
    }
    let texts: usize = data.values().map(String::len).sum();
    let (key, bytes) = binary_data(component, arguments.gzip, texts)?;
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(component.name.clone()),
            namespace: arguments.namespace.clone(),
            labels: Some([(LABEL_PLUGIN.to_owned(), component.name.clone())].into()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        binary_data: Some([(key.to_owned(), ByteString(bytes))].into()),
        ..ConfigMap::default()
    };
    match PluginRequest::read(&component.name, &map) {
        Ok(_) => Ok(map),
        Err(Unusable(why)) => bail!("packing {}: {why}", component.file),
    }
}

/// A line for each key.
fn signatures(component: &Component, keys: &[PathBuf]) -> Result<String> {
    let mut signatures = String::new();
    for file in keys {
        let shown = file.display();
        let pem = std::fs::read_to_string(file).with_context(|| format!("reading {shown}"))?;
        let line = signature::sign(&pem, &component.name, &component.digest);
        signatures.push_str(&line.with_context(|| format!("signing with {shown}"))?);
        signatures.push('\n');
    }
    Ok(signatures)
}

/// As it is where it fits beside `texts` bytes, else compressed.
fn binary_data(component: &Component, gzip: bool, texts: usize) -> Result<(&'static str, Vec<u8>)> {
    if !gzip && component.bytes.len() + texts <= MAX_CONFIG_MAP {
        return Ok((WASM, component.bytes.clone()));
    }
    let packed = source::pack(&component.bytes)?;
    let size = packed.len() + texts;
    ensure!(
        size <= MAX_CONFIG_MAP,
        "{} has {size} bytes even when compressed, a ConfigMap takes {MAX_CONFIG_MAP}: put the component into the image's \
         plugin directory",
        component.file
    );
    Ok((WASM_GZ, packed))
}
