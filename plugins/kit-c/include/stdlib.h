/* What the generated bindings need of it; coxswain.c has the bodies. */
#ifndef COXSWAIN_STDLIB_H
#define COXSWAIN_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
_Noreturn void abort(void);

#endif
