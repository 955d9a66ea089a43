//! One object from its JSON to a row, or why not.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cut::Cut;
use crate::{job_row::decoded, key::JobKey, kind::Watched, metadata::AnyObject};

/// `serde_json` goes no deeper, so that its recursion ends before the stack does.
const DEEPEST: usize = 127;

/// Bytes that a decoded object may take. Ordinary jobs take some tens of KiB; 8,000 containers take 7 MiB, and are for
/// validation to refuse in better words. One object of the 1.5 MiB that etcd stores could take 120 MiB.
const LARGEST: usize = 16 << 20;

/// What an object turned out to be.
#[derive(Debug)]
pub enum Read<R> {
    /// A job's.
    Ours(JobKey, R),
    /// None of ours.
    Others,
    /// To be set aside.
    Unreadable(Box<Unreadable<R>>),
}

/// What its metadata alone tell of an object.
#[derive(Debug)]
pub struct Unreadable<R> {
    /// As far as they can be read.
    pub meta: ObjectMeta,
    /// Its job, and a row in which only identity and version count.
    pub row: Option<(JobKey, R)>,
    /// For people.
    pub why: String,
}

/// Decodes an object.
pub fn read<K: Watched>(object: &Cut) -> Read<K::Row> {
    let refused = if K::HOLDS_TEMPLATES { too_much(object) } else { None };
    let why = match refused {
        Some(why) => why,
        None => match serde_json::from_slice::<K>(&object.json) {
            Ok(object) => return object.row().map_or(Read::Others, |(job, row)| Read::Ours(job, row)),
            // Depth is left to the decoder, which skips what nobody reads: `managedFields` are deeper than what they manage.
            Err(_) if object.depth > DEEPEST => {
                format!("it is nested {} levels deep, {DEEPEST} at most can be read", object.depth)
            }
            Err(error) => error.to_string(),
        },
    };
    let Some(head) = head(object) else {
        return Read::Unreadable(Box::new(Unreadable { meta: ObjectMeta::default(), row: None, why }));
    };
    let Ok(known) = serde_json::from_str::<K>(&head) else {
        let meta = AnyObject::read(&head.into()).metadata;
        return Read::Unreadable(Box::new(Unreadable { meta, row: None, why }));
    };
    let Some(row) = known.row() else { return Read::Others };
    let meta = AnyObject::read(&head.into()).metadata;
    Read::Unreadable(Box::new(Unreadable { meta, row: Some(row), why }))
}

/// Its size in closed form, before anything is built.
fn too_much(object: &Cut) -> Option<String> {
    let size = decoded(object.json.len(), object.maps, object.values);
    let (maps, values) = (object.maps, object.values);
    (size > LARGEST)
        .then(|| format!("with {maps} maps and {values} further values it is too large to be read"))
}

/// The object with nothing but its metadata.
fn head(object: &Cut) -> Option<String> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        metadata: &'a RawValue,
    }
    let Head { metadata } = serde_json::from_slice(&object.json).ok()?;
    Some(format!("{{\"metadata\":{metadata}}}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        job_row::JobRow,
        kinds::{DecodedMpiJob, DecodedPod},
        table::Row,
        watch::cut::{Cutter, Piece},
    };

    /// As it arrives in a list.
    fn cut(object: &str) -> Cut {
        let mut cuts = Vec::new();
        let list = format!("{{\"items\":[{object}]}}");
        let mut found = |piece| match piece {
            Piece::Object(cut) => cuts.push(cut),
            Piece::Around(_) => {}
        };
        Cutter::default().push(list.as_bytes(), &mut found).unwrap();
        cuts.remove(0)
    }

    fn job(template: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"pi","namespace":"team-a","uid":"00000000-0000-0000-0000-000000000001",
            "resourceVersion":"7"}},"spec":{{"mpiReplicaSpecs":{{"Worker":{{"template":{template}}}}}}}}}"#
        )
    }

    fn nested(levels: usize) -> String {
        format!("{}0{}", "{\"a\":".repeat(levels), "}".repeat(levels))
    }

    fn unreadable(object: &Cut) -> Unreadable<JobRow> {
        match read::<DecodedMpiJob>(object) {
            Read::Unreadable(unreadable) => *unreadable,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_is_read_up_to_the_depth_that_can_be_decoded_and_no_further() {
        // The template stands in four maps.
        let deepest = read::<DecodedMpiJob>(&cut(&job(&nested(DEEPEST - 4))));
        let Read::Ours(key, row) = deepest else { panic!("{deepest:?}") };
        assert_eq!(key, JobKey::new("team-a", "pi"));
        assert!(row.job().is_some(), "what was packed is unpacked");

        for levels in [DEEPEST - 3, 200, 10_000] {
            let deeper = unreadable(&cut(&job(&nested(levels))));

            let (key, row) = deeper.row.unwrap();
            assert_eq!((key, row.version().0), (JobKey::new("team-a", "pi"), 7));
            assert_eq!(deeper.meta.uid.as_deref(), Some("00000000-0000-0000-0000-000000000001"));
            assert!(deeper.why.contains(&format!("{} levels deep", levels + 4)), "{}", deeper.why);
        }
    }

    #[test]
    fn what_nobody_reads_may_be_as_deep_as_it_likes() {
        let job = job("{}").replace("\"uid\"", &format!("\"managedFields\":[{}],\"uid\"", nested(500)));

        assert!(matches!(read::<DecodedMpiJob>(&cut(&job)), Read::Ours(..)));
    }

    #[test]
    fn a_job_that_would_take_too_much_memory_is_refused_before_it_is_built() {
        let many = |maps: usize| job(&format!("{{\"a\":[{}{{}}]}}", "{\"b\":0},".repeat(maps)));

        let refused = unreadable(&cut(&many(150_000)));

        assert!(refused.why.contains("maps and"), "{}", refused.why);
        assert!(matches!(read::<DecodedMpiJob>(&cut(&many(10_000))), Read::Ours(..)));
    }

    #[test]
    fn a_field_of_another_type_than_it_should_have_leaves_the_identity() {
        let wrong = r#"{"metadata":{"name":"pi","namespace":"team-a","uid":"x"},"spec":7}"#;

        let unreadable = unreadable(&cut(wrong));

        assert_eq!(unreadable.meta.name.as_deref(), Some("pi"));
        assert_eq!(unreadable.row.map(|(key, _)| key), Some(JobKey::new("team-a", "pi")));
    }

    #[test]
    fn what_is_nobodys_is_not_set_aside_whatever_it_holds() {
        let pod = |labels: Value, conditions: Value| {
            let object = json!({"metadata": {"name": "pi-worker-0", "namespace": "team-a", "labels": labels},
                "status": {"conditions": conditions}});
            read::<DecodedPod>(&cut(&object.to_string()))
        };

        assert!(matches!(pod(json!({}), json!("wrong")), Read::Others));
        let ours =
            json!({"training.kubeflow.org/job-name": "pi", "training.kubeflow.org/job-role": "worker"});
        assert!(matches!(pod(ours, json!("wrong")), Read::Unreadable(_)));
    }
}
