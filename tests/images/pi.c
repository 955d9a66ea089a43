/*
 * pi [SAMPLES [SECONDS]]: the MPI program that the example jobs run.
 *
 * Takes the integral of 4 / (1 + x^2) over [0, 1], which is pi, by the midpoint rule; each rank sums every SIZE-th of
 * SAMPLES midpoints. The result does not depend on the number of ranks beyond rounding, so a test can compare digits.
 *
 * SAMPLES  total number of midpoints, default 1000000000: about a second on two slow cores
 * SECONDS  repeat the sum every half second for this long, default 0; the ranks meet in every round, so a rank
 *          that is gone ends the job
 * PI_PRINT_ENV=NAME,NAME  environment: each rank prints these of its variables, `unset` for those it does not have
 *
 * Output, a line each, ranks in any order:
 *   rank 0 of 2 on pi-worker-0
 *   rank 0 env NAME=value
 *   pi is approximately 3.14159265358979
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOST_NAME_BYTES = 256, NAMES_BYTES = 4096, LINE_BYTES = 4096 /* what a pipe takes at once */ };

/* Not MPI_Wtime: its epoch differs between implementations, and only rank 0 looks at this clock anyway. */
static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One write a line: a launcher passes on what it reads, and puts another rank's output into a line that comes in parts. */
static void print_line(const char *format, ...) {
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    if (length < 0) {
        return;
    }
    size_t end = (size_t)length < sizeof line - 2 ? (size_t)length : sizeof line - 2;
    line[end] = '\n';
    if (write(STDOUT_FILENO, line, end + 1) < 0) {
        exit(1);
    }
}

static void print_environment(int rank) {
    const char *wanted = getenv("PI_PRINT_ENV");
    if (wanted == NULL) {
        return;
    }
    char names[NAMES_BYTES];
    snprintf(names, sizeof names, "%s", wanted);
    for (char *name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
        const char *value = getenv(name);
        if (value == NULL) {
            print_line("rank %d env %s unset", rank, name);
        } else {
            print_line("rank %d env %s=%s", rank, name, value);
        }
    }
}

static double share_of_pi(long samples, int rank, int size) {
    double width = 1.0 / (double)samples;
    double sum = 0.0;
    for (long i = rank; i < samples; i += size) {
        double x = ((double)i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

static long whole_number(const char *text, const char *what, long least) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least) {
        fprintf(stderr, "pi: %s must be a whole number of at least %ld, not \"%s\"\n", what, least, text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    long samples = argc > 1 ? whole_number(argv[1], "SAMPLES", 1) : 1000000000L;
    long seconds = argc > 2 ? whole_number(argv[2], "SECONDS", 0) : 0;

    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    char host[HOST_NAME_BYTES] = "";
    gethostname(host, sizeof host - 1);
    print_line("rank %d of %d on %s", rank, size, host);
    print_environment(rank);

    double end = seconds_now() + (double)seconds;
    double pi = 0.0;
    int again;
    do {
        double share = share_of_pi(samples, rank, size);
        MPI_Reduce(&share, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        double left = end - seconds_now();
        again = left > 0.0;
        MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (again) {
            struct timespec pause = {0, 500 * 1000 * 1000};
            nanosleep(&pause, NULL);
        }
    } while (again);

    if (rank == 0) {
        print_line("pi is approximately %.14f", pi);
    }
    MPI_Finalize();
    return 0;
}
