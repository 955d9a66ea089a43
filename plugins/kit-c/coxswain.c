/* Bodies of coxswain.h, and the little of a C library that the generated bindings need. */
#include "coxswain.h"

/* --- memory --------------------------------------------------------------------------------------------------------- */

/* A block grows upwards from the linker's end of static memory and starts behind a header that holds its size. */
enum { PAGE = 65536, HEADER = 8, ALIGNMENT = 8 };

extern unsigned char __heap_base;
static uintptr_t heap;

static size_t *size_of(void *block) { return (size_t *)((char *)block - HEADER); }

static void reserve(uintptr_t end) {
    uintptr_t there = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end <= there) return;
    /* The host refuses more than 64 MiB and says so to whoever looks at the plugin. */
    if (__builtin_wasm_memory_grow(0, (end - there + PAGE - 1) / PAGE) == (size_t)-1) abort();
}

void *malloc(size_t size) {
    if (heap == 0) heap = (uintptr_t)&__heap_base;
    uintptr_t start = (heap + HEADER + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    if (size > UINT32_MAX - start - PAGE) abort();
    reserve(start + size);
    heap = start + size;
    *size_of((void *)start) = size;
    return (void *)start;
}

void *realloc(void *block, size_t size) {
    if (block == NULL) return malloc(size);
    size_t before = *size_of(block);
    if (size <= before) return block;
    /* The last block grows where it is. */
    if ((uintptr_t)block + before == heap && size < UINT32_MAX - heap - PAGE) {
        reserve((uintptr_t)block + size);
        heap = (uintptr_t)block + size;
        *size_of(block) = size;
        return block;
    }
    return memcpy(malloc(size), block, before);
}

void free(void *block) { (void)block; }

_Noreturn void abort(void) { __builtin_trap(); }

/* One instruction each, as the plugins are compiled with -mbulk-memory. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) { return __builtin_memcpy(to, from, size); }
void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }
void *memset(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }

int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}

/* Adds an element to a list. */
#define PUSH(list, ...)                                                                     \
    do {                                                                                    \
        (list)->ptr = realloc((list)->ptr, ((list)->len + 1) * sizeof *(list)->ptr);        \
        (list)->ptr[(list)->len] = (__VA_ARGS__);                                           \
        (list)->len++;                                                                      \
    } while (0)

/* --- text ----------------------------------------------------------------------------------------------------------- */

cox_string cox_text(const char *text) { return (cox_string){(uint8_t *)text, strlen(text)}; }

bool cox_equal(cox_string one, const char *other) {
    return one.len == strlen(other) && memcmp(one.ptr, other, one.len) == 0;
}

static bool same(cox_string one, cox_string other) {
    return one.len == other.len && memcmp(one.ptr, other.ptr, one.len) == 0;
}

void cox_put_string(cox_writer *out, cox_string text) {
    if (text.len > out->room - out->length) {
        out->room = 2 * out->room + text.len;
        out->bytes = realloc(out->bytes, out->room);
    }
    memcpy(out->bytes + out->length, text.ptr, text.len);
    out->length += text.len;
}

void cox_put(cox_writer *out, const char *text) { cox_put_string(out, cox_text(text)); }

void cox_put_number(cox_writer *out, uint64_t number) {
    /* 2^64 has 20 digits. */
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    cox_put_string(out, (cox_string){(uint8_t *)digits + first, sizeof digits - first});
}

cox_string cox_written(const cox_writer *out) { return (cox_string){(uint8_t *)out->bytes, out->length}; }

cox_strings cox_list(size_t count, const char *const *texts) {
    cox_strings list = {malloc(count * sizeof(cox_string)), count};
    for (size_t i = 0; i < count; i++) list.ptr[i] = cox_text(texts[i]);
    return list;
}

/* --- the job -------------------------------------------------------------------------------------------------------- */

const cox_group *cox_driver(const cox_job *job) {
    for (size_t i = 0; i < job->groups.len; i++) {
        if (job->groups.ptr[i].driver) return &job->groups.ptr[i];
    }
    return NULL;
}

cox_string cox_setting(const cox_job *job, const char *key) {
    for (size_t i = 0; i < job->settings.len; i++) {
        if (cox_equal(job->settings.ptr[i].key, key)) return job->settings.ptr[i].value;
    }
    return cox_text("");
}

cox_string cox_path(const cox_job *job, const char *file) {
    cox_writer out = {0};
    cox_put_string(&out, job->files_dir);
    cox_put(&out, "/");
    cox_put(&out, file);
    return cox_written(&out);
}

cox_string cox_ssh_args(const cox_job *job, cox_string args) {
    if (!job->ssh.is_some) return args;
    cox_writer out = {0};
    if (job->ssh.val.known_hosts.is_some) {
        cox_put(&out, "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=");
        cox_put_string(&out, job->ssh.val.known_hosts.val);
        if (args.len > 0) cox_put(&out, " ");
    }
    cox_put_string(&out, args);
    if (job->ssh.val.port.is_some) {
        cox_put(&out, out.length > 0 ? " -p " : "-p ");
        cox_put_number(&out, job->ssh.val.port.val);
    }
    return cox_written(&out);
}

/* Calls `visit` for every host that executes ranks: the driver's own first, then every group in the job's order. */
static void rank_hosts(const cox_job *job, void (*visit)(const cox_host *, void *), void *into) {
    for (int driver = 1; driver >= 0; driver--) {
        for (size_t i = 0; i < job->groups.len; i++) {
            const cox_group *group = &job->groups.ptr[i];
            if (group->driver != (bool)driver || !group->runs_ranks) continue;
            for (size_t j = 0; j < group->hosts.len; j++) visit(&group->hosts.ptr[j], into);
        }
    }
}

static void add_slots(const cox_host *host, void *into) { *(uint64_t *)into += host->slots; }

uint64_t cox_total_slots(const cox_job *job) {
    uint64_t total = 0;
    rank_hosts(job, add_slots, &total);
    return total;
}

/* --- the plan ------------------------------------------------------------------------------------------------------- */

static void env(cox_plan *plan, coxswain_plugin_option_string_t group, const char *name, cox_string value,
                cox_precedence precedence) {
    coxswain_plugin_types_edit_t edit = {.group = group, .change.tag = COXSWAIN_PLUGIN_TYPES_CHANGE_ENV};
    edit.change.val.env = (coxswain_plugin_types_env_edit_t){
        .name = cox_text(name),
        .value = {.tag = COXSWAIN_PLUGIN_TYPES_ENV_VALUE_LITERAL, .val.literal = value},
        .precedence = (uint8_t)precedence,
    };
    PUSH(&plan->edits, edit);
}

void cox_env(cox_plan *plan, const cox_group *group, const char *name, cox_string value, cox_precedence precedence) {
    env(plan, (coxswain_plugin_option_string_t){true, group->name}, name, value, precedence);
}

void cox_env_everywhere(cox_plan *plan, const char *name, cox_string value, cox_precedence precedence) {
    env(plan, (coxswain_plugin_option_string_t){.is_some = false}, name, value, precedence);
}

void cox_command(cox_plan *plan, const cox_group *driver, size_t count, const cox_string *words) {
    coxswain_plugin_types_edit_t edit = {
        .group = {true, driver->name},
        .change.tag = COXSWAIN_PLUGIN_TYPES_CHANGE_LAUNCH_COMMAND,
    };
    size_t size = count * sizeof *words;
    edit.change.val.launch_command = (cox_strings){memcpy(malloc(size), words, size), count};
    PUSH(&plan->edits, edit);
}

static cox_file job_file(const char *name, bool executable, cox_string content) {
    return (cox_file){
        .name = cox_text(name),
        .place.tag = COXSWAIN_PLUGIN_TYPES_PLACE_JOB,
        .executable = executable,
        .content = content,
    };
}

void cox_add_file(cox_plan *plan, const char *name, bool executable, cox_string content) {
    PUSH(&plan->files, job_file(name, executable, content));
}

void cox_add_following(cox_files *files, const char *name, bool executable, cox_string content) {
    PUSH(files, job_file(name, executable, content));
}

void cox_warn(cox_plan *plan, const char *text) {
    coxswain_plugin_types_note_t note = {COXSWAIN_PLUGIN_TYPES_LEVEL_WARNING, cox_text(text)};
    PUSH(&plan->notes, note);
}

struct hostfile {
    cox_writer out;
    const char *separator;
};

static void add_line(const cox_host *host, void *into) {
    struct hostfile *file = into;
    cox_put_string(&file->out, host->name);
    cox_put(&file->out, file->separator);
    cox_put_number(&file->out, host->slots);
    cox_put(&file->out, "\n");
}

cox_string cox_hostfile(const cox_job *job, const char *separator) {
    struct hostfile file = {.separator = separator};
    rank_hosts(job, add_line, &file);
    return cox_written(&file.out);
}

static void add_echo(cox_writer *out, const cox_host *host) {
    cox_put(out, "echo ");
    cox_put_string(out, host->name);
    cox_put(out, "\n");
}

/* Whether a member executes ranks now. One that is being deleted does not count: its ranks would be lost. */
static bool is_running(const cox_job *job, const cox_member *member) {
    if (member->state != COXSWAIN_PLUGIN_TYPES_MEMBER_STATE_RUNNING &&
        member->state != COXSWAIN_PLUGIN_TYPES_MEMBER_STATE_READY) {
        return false;
    }
    for (size_t i = 0; i < job->groups.len; i++) {
        const cox_group *group = &job->groups.ptr[i];
        if (!group->driver && group->runs_ranks && same(group->name, member->group)) return true;
    }
    return false;
}

cox_string cox_discover(const cox_job *job, const cox_members *members) {
    cox_writer out = {0};
    cox_put(&out, "#!/bin/sh\n");
    /* The driver's own line whether it runs or not, as it is the one that asks. */
    const cox_group *driver = cox_driver(job);
    for (size_t i = 0; driver != NULL && driver->runs_ranks && i < driver->hosts.len; i++) {
        add_echo(&out, &driver->hosts.ptr[i]);
    }
    for (size_t i = 0; members != NULL && i < members->len; i++) {
        if (is_running(job, &members->ptr[i])) add_echo(&out, &members->ptr[i].host);
    }
    return cox_written(&out);
}

/* --- failures ------------------------------------------------------------------------------------------------------- */

void cox_violation(cox_violations *violations, cox_string path, const char *text) {
    PUSH(violations, (coxswain_plugin_types_violation_t){path, cox_text(text)});
}

bool cox_invalid(cox_failure *failure, const cox_violations *violations) {
    failure->tag = COXSWAIN_PLUGIN_TYPES_FAILURE_INVALID;
    failure->val.invalid.ptr = violations->ptr;
    failure->val.invalid.len = violations->len;
    return false;
}

bool cox_unsupported(cox_failure *failure, const char *text) {
    failure->tag = COXSWAIN_PLUGIN_TYPES_FAILURE_UNSUPPORTED;
    failure->val.unsupported = cox_text(text);
    return false;
}
