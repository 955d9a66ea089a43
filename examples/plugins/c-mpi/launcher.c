/*
 * Launcher plugin for CMPI, a flavour of MPICH: an example of a plugin in C.
 *
 *   cargo run -p coxswain-plugin-build -- c-mpi      makes target/plugins/examples/c-mpi.wasm
 *
 * A job selects it with `spec.mpiImplementation: CMPI`. docs/plugins.md explains each step; copy this folder to begin
 * with a flavour of your own.
 */
#include "coxswain.h"

#define VERSION "0.1.0"

static const char SSH_ARGS[] = "ssh-args";
static const char INTERFACE[] = "interface";

/* Who the plugin is. PLUGIN_NAME is the name of the folder, which the build passes on. `writes_env` is a promise: the
 * operator refuses a plan that sets any other variable. */
void cox_describe(cox_descriptor *about) {
    static cox_setting_kind settings[2];
    settings[0] = (cox_setting_kind){
        cox_text(SSH_ARGS),
        {true, cox_text("-o ConnectionAttempts=10")},
        cox_text("words for every ssh, separated by blanks; Hydra knows no quotes"),
    };
    settings[1] = (cox_setting_kind){
        cox_text(INTERFACE),
        {true, cox_text("eth0")},
        cox_text("interface of the launcher that workers call back to"),
    };
    *about = (cox_descriptor){
        .name = cox_text(PLUGIN_NAME),
        .version = cox_text(VERSION),
        .summary = cox_text("CMPI, an example in C: MPICH over ssh"),
        .serves = cox_list(1, (const char *[]){"CMPI"}),
        .settings = {settings, 2},
        .writes_env = cox_list(2, (const char *[]){"HYDRA_", "CMPI_"}),
    };
}

/* Told to whoever set them: the administrator when the plugin is loaded, the user when the job is created. */
void cox_check_settings(cox_settings *settings, cox_violations *violations) {
    *violations = (cox_violations){0};
    for (size_t i = 0; i < settings->len; i++) {
        cox_string key = settings->ptr[i].key;
        if (cox_equal(key, INTERFACE) && settings->ptr[i].value.len == 0) {
            cox_violation(violations, key, "must name a network interface, for example eth0");
        } else if (!cox_equal(key, INTERFACE) && !cox_equal(key, SSH_ARGS)) {
            cox_violation(violations, key, "is not a setting; there are: ssh-args, interface");
        }
    }
}

/* mpiexec.hydra [-n RANKS] PROGRAM…, for jobs that leave the command to the plugin. */
static bool command(const cox_job *job, const cox_group *driver, cox_plan *plan, cox_failure *failure) {
    cox_strings program = driver->container.args;
    if (driver->container.command.len > 0 || program.len == 0) {
        cox_violations violations = {0};
        cox_violation(&violations, cox_text("spec.mpiReplicaSpecs[Launcher].template.spec.containers[0].args"),
                      "must name the program and its arguments, and command must be empty: the plugin renders it");
        return cox_invalid(failure, &violations);
    }
    cox_string *words = malloc((3 + program.len) * sizeof *words);
    size_t count = 0;
    words[count++] = cox_text("mpiexec.hydra");
    /* The number of an elastic job changes, its launcher's command cannot: mpiexec fills the hostfile. */
    if (!job->elastic) {
        cox_writer ranks = {0};
        cox_put_number(&ranks, cox_total_slots(job));
        words[count++] = cox_text("-n");
        words[count++] = cox_written(&ranks);
    }
    for (size_t i = 0; i < program.len; i++) words[count++] = program.ptr[i];
    cox_command(plan, driver, count, words);
    return true;
}

/* What a job gets: called for the whole job, before there are any pods. */
bool cox_render(cox_job *job, cox_plan *plan, cox_failure *failure) {
    *plan = (cox_plan){0};
    const cox_group *driver = cox_driver(job);
    if (driver == NULL) return cox_unsupported(failure, "the job has no launcher");

    cox_string hosts = cox_hostfile(job, ":");
    if (hosts.len == 0) cox_warn(plan, "no host executes ranks: mpiexec runs everything in the launcher");
    cox_add_file(plan, "hostfile", false, hosts);
    cox_add_file(plan, "discover_hosts.sh", true, cox_discover(job, NULL));

    cox_env(plan, driver, "HYDRA_HOST_FILE", cox_path(job, "hostfile"), COX_FORCE);
    cox_env(plan, driver, "HYDRA_LAUNCHER", cox_text("ssh"), COX_FALLBACK);
    cox_string ssh_args = cox_ssh_args(job, cox_setting(job, SSH_ARGS));
    cox_env(plan, driver, "HYDRA_LAUNCHER_EXTRA_ARGS", ssh_args, COX_FALLBACK);
    /* On the node's own network, interfaces are called whatever the node calls them. */
    if (!driver->host_network) cox_env(plan, driver, "HYDRA_IFACE", cox_setting(job, INTERFACE), COX_FALLBACK);
    /* Hydra hands the launcher's environment on, so that every rank can say which flavour has started it. */
    cox_env(plan, driver, "CMPI_FLAVOUR", cox_text(PLUGIN_NAME " " VERSION), COX_FORCE);

    return !job->renders_command || command(job, driver, plan, failure);
}

/* Files that follow the pods as these come and go. */
bool cox_follow(cox_job *job, cox_members *members, cox_files *files, cox_failure *failure) {
    (void)failure;
    *files = (cox_files){0};
    cox_add_following(files, "discover_hosts.sh", true, cox_discover(job, members));
    return true;
}
