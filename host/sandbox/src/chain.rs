//! The launcher, then the tuners: who set what.

use std::fmt;

use coxswain_model::{
    plan::{Descriptor, Failure, File, Note, Place, Plan},
    view::{JobView, Member, Setting},
};

use crate::{convert::Input, fault::Fault, plugin::Plugin};

/// A plugin with the settings that the host merged for it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Who is asked.
    pub plugin: Plugin,
    /// Sorted by key, keys unique.
    pub settings: Vec<Setting>,
}

/// What renders a job.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Makes the plan. If it does not, there is none.
    pub launcher: Link,
    /// Add to it, in this order. One that breaks is left out, with a note.
    pub tuners: Vec<Link>,
}

/// A fault and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// Name of the plugin.
    pub plugin: String,
    /// What happened.
    pub fault: Fault,
}

impl Chain {
    /// What its plugins say of themselves, launcher first.
    pub fn descriptors(&self) -> Vec<&Descriptor> {
        let links = std::iter::once(&self.launcher).chain(&self.tuners);
        links.map(|link| link.plugin.descriptor()).collect()
    }

    /// The plan of the whole chain for `job`, whose own `settings` are ignored.
    ///
    /// A tuner whose `serves` leaves the job's flavor out has no say in it. One that breaks or cannot serve the job is
    /// skipped, with a warning in the plan's notes. One that finds a mistake of the user's stops the chain, as
    /// the user asked for something and can mend it.
    ///
    /// # Errors
    ///
    /// The launcher refuses or breaks, or a tuner finds a mistake.
    pub fn render(&self, job: &JobView) -> Result<Plan, ChainFault> {
        self.render_input(&mut Input::of(job))
    }

    fn render_input(&self, input: &mut Input<'_>) -> Result<Plan, ChainFault> {
        let job = input.view();
        self.launcher.served(job)?;
        let launcher = &self.launcher;
        let mut plan =
            launcher.plugin.render_with(input, &launcher.settings).map_err(|fault| launcher.blame(fault))?;
        for tuner in self.tuners.iter().filter(|tuner| tuner.tunes(job)) {
            match tuner.plugin.tune_with(input, &tuner.settings, &plan) {
                Ok(own) => {
                    plan.edits.extend(own.edits);
                    plan.files.extend(own.files);
                    plan.notes.extend(own.notes);
                }
                Err(fault @ Fault::Refused(Failure::Invalid(_))) => return Err(tuner.blame(fault)),
                Err(fault) => plan.notes.push(Note {
                    by: tuner.plugin.name().into(),
                    warning: true,
                    text: format!("tuner {} was skipped: {fault}", tuner.plugin.name()),
                }),
            }
        }
        Ok(plan)
    }

    /// What is rendered, with the files that follow `members` in the place of those of the same name.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn plan(&self, job: &JobView, members: &[Member]) -> Result<Plan, ChainFault> {
        let mut input = Input::of(job);
        let mut plan = self.render_input(&mut input)?;
        let followed = self.follow_input(&mut input, members)?;
        let is_followed =
            |file: &File| file.place == Place::Job && followed.iter().any(|newer| newer.name == file.name);
        plan.files.retain(|file| !is_followed(file));
        plan.files.extend(followed);
        Ok(plan)
    }

    /// The launcher's files that follow `members`, in whatever order these come.
    ///
    /// # Errors
    ///
    /// The launcher refuses or breaks.
    pub fn follow(&self, job: &JobView, members: &[Member]) -> Result<Vec<File>, ChainFault> {
        self.follow_input(&mut Input::of(job), members)
    }

    fn follow_input(&self, input: &mut Input<'_>, members: &[Member]) -> Result<Vec<File>, ChainFault> {
        self.launcher.served(input.view())?;
        let launcher = &self.launcher;
        launcher.plugin.follow_with(input, &launcher.settings, members).map_err(|fault| launcher.blame(fault))
    }
}

impl Link {
    fn served(&self, job: &JobView) -> Result<(), ChainFault> {
        let serves = &self.plugin.descriptor().serves;
        if serves.contains(&job.flavor) {
            return Ok(());
        }
        let text = format!("it serves {}, not {:?}", serves.join(", "), job.flavor);
        Err(self.blame(Fault::Refused(Failure::Unsupported(text))))
    }

    fn tunes(&self, job: &JobView) -> bool {
        let serves = &self.plugin.descriptor().serves;
        serves.is_empty() || serves.contains(&job.flavor)
    }

    fn blame(&self, fault: Fault) -> ChainFault {
        ChainFault { plugin: self.plugin.name().into(), fault }
    }
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin {}: {}", self.plugin, self.fault)
    }
}

impl std::error::Error for ChainFault {}
