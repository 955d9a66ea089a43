/*
 * What authors of plugins in C would otherwise write again: short names for the contract's types, text, host lists,
 * edits, settings.
 *
 * In goes a job as the host sends it, out come pieces of a plan. `coxswain_plugin.h` is generated from wit/plugin.wit
 * when a plugin is built; its comments say what each field means.
 *
 * Memory: every call has an instance of its own, which is thrown away after it. So nothing is ever freed here, a
 * literal may stand wherever a string is wanted, and strings of the job may be put into the plan as they are. There is
 * no C library behind this (it would want a clock, files and a terminal, and a plugin that asks for these is refused).
 */
#ifndef COXSWAIN_H
#define COXSWAIN_H

#include "coxswain_plugin.h"
#include <stdlib.h>
#include <string.h>

typedef coxswain_plugin_string_t cox_string;
typedef coxswain_plugin_list_string_t cox_strings;

typedef coxswain_plugin_types_job_t cox_job;
typedef coxswain_plugin_types_group_t cox_group;
typedef coxswain_plugin_types_host_entry_t cox_host;
typedef coxswain_plugin_types_member_t cox_member;
typedef coxswain_plugin_types_plan_t cox_plan;
typedef coxswain_plugin_types_file_t cox_file;
typedef coxswain_plugin_types_setting_kind_t cox_setting_kind;
typedef coxswain_plugin_types_failure_t cox_failure;

typedef exports_coxswain_plugin_about_descriptor_t cox_descriptor;
typedef exports_coxswain_plugin_about_list_setting_t cox_settings;
typedef exports_coxswain_plugin_about_list_violation_t cox_violations;
typedef exports_coxswain_plugin_launcher_list_member_t cox_members;
typedef exports_coxswain_plugin_launcher_list_file_t cox_files;

/* Whose value of a variable wins where the user has set it, too. */
typedef enum {
    /* The user's. */
    COX_FALLBACK = COXSWAIN_PLUGIN_TYPES_PRECEDENCE_FALLBACK,
    /* The plugin's. For what the job cannot run without. */
    COX_FORCE = COXSWAIN_PLUGIN_TYPES_PRECEDENCE_FORCE,
} cox_precedence;

/* The functions that a plugin defines. */
#define cox_describe exports_coxswain_plugin_about_describe
#define cox_check_settings exports_coxswain_plugin_about_check_settings
#define cox_render exports_coxswain_plugin_launcher_render
#define cox_follow exports_coxswain_plugin_launcher_follow

/* --- text ---------------------------------------------------------------------------------------------------------- */

/* A C string as it is, without a copy. */
cox_string cox_text(const char *text);
bool cox_equal(cox_string one, const char *other);

/* Text that grows. Start with `cox_writer out = {0};`, end with cox_written. */
typedef struct {
    char *bytes;
    size_t length;
    size_t room;
} cox_writer;

void cox_put(cox_writer *out, const char *text);
void cox_put_string(cox_writer *out, cox_string text);
void cox_put_number(cox_writer *out, uint64_t number);
cox_string cox_written(const cox_writer *out);

/* A list of `count` C strings, for describe. */
cox_strings cox_list(size_t count, const char *const *texts);

/* --- the job ------------------------------------------------------------------------------------------------------- */

/* The group that starts the run (an MPIJob's launcher); NULL if there is none. */
const cox_group *cox_driver(const cox_job *job);

/* The job's value of a setting, else the cluster's, else the declared default; empty if it is not declared. */
cox_string cox_setting(const cox_job *job, const char *key);

/* The absolute path of a file of the plan in the driver's pod. */
cox_string cox_path(const cox_job *job, const char *file);

/* `args`, with the check of host keys before it where the job asks for one (of options that stand twice ssh takes the
 * first), and `-p PORT` behind it where the job's sshd listens on another port than 22. */
cox_string cox_ssh_args(const cox_job *job, cox_string args);

/* Ranks of the whole job. */
uint64_t cox_total_slots(const cox_job *job);

/* --- the plan ------------------------------------------------------------------------------------------------------ */

/* A variable in the main container of a group's pods. */
void cox_env(cox_plan *plan, const cox_group *group, const char *name, cox_string value, cox_precedence precedence);

/* The same in the driver's pods and in those of all groups that execute ranks. */
void cox_env_everywhere(cox_plan *plan, const char *name, cox_string value, cox_precedence precedence);

/* The whole command of the driver, `count` words; for jobs with `renders_command` only. */
void cox_command(cox_plan *plan, const cox_group *driver, size_t count, const cox_string *words);

/* A file beside the host list, in the driver's pod. */
void cox_add_file(cox_plan *plan, const char *name, bool executable, cox_string content);

/* The same for cox_follow: takes the place of the plan's file of that name. */
void cox_add_following(cox_files *files, const char *name, bool executable, cox_string content);

/* A line that the user sees as an event of the job. */
void cox_warn(cox_plan *plan, const char *text);

/* A line `HOST<separator>SLOTS` for each host that executes ranks, the driver's own first. `separator` is ":" for Hydra
 * and " slots=" for Open MPI. */
cox_string cox_hostfile(const cox_job *job, const char *separator);

/* discover_hosts.sh: a script that prints the hosts that run now, one a line; elastic frameworks call it again and
 * again. `members` is NULL while there are no pods yet. */
cox_string cox_discover(const cox_job *job, const cox_members *members);

/* --- failures ------------------------------------------------------------------------------------------------------ */

/* A mistake of the user's: the field or the setting, and what would be right. */
void cox_violation(cox_violations *violations, cox_string path, const char *text);

/* For `return cox_invalid(err, &violations);`. The user can fix it. */
bool cox_invalid(cox_failure *failure, const cox_violations *violations);

/* For `return cox_unsupported(err, "…");`. The plugin cannot serve this job. */
bool cox_unsupported(cox_failure *failure, const char *text);

#endif
