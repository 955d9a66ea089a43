//! Builds of the shipped plugins that differ in their bytes and in one setting, and their ConfigMaps.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result};
use coxswain_model::pin::Digest;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};

use crate::{
    audit::now,
    setting::{OPERATOR_NAMESPACE, Setting},
};

/// What stands before the build's number, in a setting that every implementation hands on to ssh.
pub const MARK: &str = "ConnectionAttempts=";

/// A plugin that is swapped, and what selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Its name.
    pub name: &'static str,
    /// `spec.mpiImplementation`.
    pub implementation: &'static str,
}

/// The three.
pub const PLUGINS: [Plugin; 3] = [
    Plugin { name: "openmpi", implementation: "OpenMPI" },
    Plugin { name: "mpich", implementation: "MPICH" },
    Plugin { name: "intel-mpi", implementation: "Intel" },
];

/// Their components, and where their ConfigMaps go.
pub struct Plugins {
    components: BTreeMap<&'static str, Vec<u8>>,
    maps: Api<ConfigMap>,
}

/// One build of one plugin.
pub struct Build {
    /// Whose.
    pub plugin: Plugin,
    /// Its identity.
    pub digest: Digest,
    number: u32,
    bytes: Vec<u8>,
}

impl Build {
    /// The same component with a custom section more, which nobody reads.
    pub fn new(plugins: &Plugins, plugin: Plugin, number: u32) -> Self {
        let mut bytes = plugins.components.get(plugin.name).cloned().unwrap_or_default();
        bytes.extend([0, 6, 1, b'b']);
        bytes.extend(number.to_le_bytes());
        let digest = Digest::of(&bytes);
        Self { plugin, digest, number, bytes }
    }

    /// For people.
    pub fn name(&self) -> String {
        format!("{} build {}", self.plugin.name, self.number)
    }
}

impl Plugins {
    /// Reads the components.
    pub async fn read(setting: &Setting) -> Result<Self> {
        let mut components = BTreeMap::new();
        for plugin in PLUGINS {
            let file = setting.plugins.join(plugin.name).with_extension("wasm");
            let bytes = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
            components.insert(plugin.name, bytes);
        }
        let client = Client::try_default().await.context("connecting")?;
        Ok(Self { components, maps: Api::namespaced(client, OPERATOR_NAMESPACE) })
    }

    /// Writes a plugin's ConfigMap. Returns when that was answered.
    pub async fn offer(&self, build: &Build) -> Result<f64> {
        let settings = format!("ssh-args: -o {MARK}{}\n", build.number + 1);
        self.write(build.plugin, build.bytes.clone(), &build.digest, settings).await
    }

    /// The same with bytes that are no component.
    pub async fn offer_broken(&self, plugin: Plugin) -> Result<()> {
        let mut bytes = self.components.get(plugin.name).cloned().unwrap_or_default();
        bytes.truncate(bytes.len() / 2);
        let digest = Digest::of(&bytes);
        self.write(plugin, bytes, &digest, String::new()).await.map(drop)
    }

    async fn write(&self, plugin: Plugin, bytes: Vec<u8>, digest: &Digest, settings: String) -> Result<f64> {
        let labels = [("coxswain.dev/plugin".to_owned(), plugin.name.to_owned())];
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(plugin.name.to_owned()),
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            },
            binary_data: Some([("plugin.wasm".to_owned(), ByteString(bytes))].into()),
            data: Some([("settings".to_owned(), settings), ("sha256".to_owned(), digest.to_string())].into()),
            ..ConfigMap::default()
        };
        let parameters = PatchParams::apply("bench").force();
        let written = self.maps.patch(plugin.name, &parameters, &Patch::Apply(map)).await;
        written.with_context(|| format!("writing ConfigMap {}", plugin.name))?;
        Ok(now())
    }

    /// Removes the ConfigMaps.
    pub async fn remove(&self) -> Result<()> {
        for plugin in PLUGINS {
            let removed = self.maps.delete(plugin.name, &DeleteParams::default()).await;
            removed.with_context(|| format!("deleting ConfigMap {}", plugin.name))?;
        }
        Ok(())
    }
}
