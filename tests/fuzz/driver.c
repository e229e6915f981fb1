// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target without libFuzzer: PROGRAM PATH..., each of them a file or a folder of files.
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "test.h"

#define SEEDS_MAX 512
#define MUTATED   5000 // inputs

struct input {
	size_t len;
	uint8_t b[FUZZ_INPUT_MAX];
};

static struct input seeds[SEEDS_MAX];
static unsigned int n_seeds;

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL || n_seeds == SEEDS_MAX) {
		fprintf(stderr, "%s: %s\n", path,
			f == NULL ? "cannot be opened" : "too many files");
		exit(2);
	}
	seeds[n_seeds].len = fread(seeds[n_seeds].b, 1, FUZZ_INPUT_MAX, f);
	n_seeds++;
	fclose(f);
}

static void read_path(const char *path)
{
	struct dirent **names;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		read_file(path);
		return;
	}

	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
			read_file(file);
		free(names[i]);
	}
	free(names);
}

// Copies octets of one input into another: replaces octets, or inserts them.
static void splice(struct input *in, const struct input *from, uint64_t *random)
{
	size_t start = random_below(random, (uint32_t)from->len + 1);
	size_t n = random_below(random, (uint32_t)(from->len - start) + 1);
	size_t at = random_below(random, (uint32_t)in->len + 1);
	bool insert = random_below(random, 2) == 0;

	if (at + n > FUZZ_INPUT_MAX || in->len + n > FUZZ_INPUT_MAX)
		return;
	if (insert) {
		memmove(in->b + at + n, in->b + at, in->len - at);
		in->len += n;
	} else if (at + n > in->len) {
		in->len = at + n;
	}
	memcpy(in->b + at, from->b + start, n);
}

static void mutate_once(struct input *in, uint64_t *random)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff, 4, 59};
	uint32_t at = in->len > 0 ? random_below(random, (uint32_t)in->len) : 0;

	switch (in->len > 0 ? random_below(random, 6) : 5) {
	case 0:
		in->b[at] ^= (uint8_t)(1 << random_below(random, 8));
		break;
	case 1:
		in->b[at] = (uint8_t)random_u64(random);
		break;
	case 2:
		in->b[at] = edges[random_below(random, COUNT_OF(edges))];
		break;
	case 3:
		in->len = at;
		break;
	case 4:
		memmove(in->b + at, in->b + at + 1, in->len - at - 1);
		in->len--;
		break;
	default:
		splice(in, &seeds[random_below(random, n_seeds)], random);
		break;
	}
}

int main(int argc, char **argv)
{
	static struct input in;
	uint64_t random = 1;
	unsigned long mutated = rounds(MUTATED);

	for (int i = 1; i < argc; i++)
		read_path(argv[i]);
	if (n_seeds == 0) {
		fprintf(stderr, "usage: %s PATH...: files or folders of inputs\n", argv[0]);
		return 2;
	}
	LLVMFuzzerInitialize(&argc, &argv);
	for (unsigned int i = 0; i < n_seeds; i++)
		LLVMFuzzerTestOneInput(seeds[i].b, seeds[i].len);
	for (unsigned long i = 0; i < mutated; i++) {
		in = seeds[random_below(&random, n_seeds)];
		for (uint32_t n = 1 + random_below(&random, 6); n > 0; n--)
			mutate_once(&in, &random);
		LLVMFuzzerTestOneInput(in.b, in.len);
	}
	printf("%u inputs of the corpus, %lu made of them\n", n_seeds, mutated);
	return 0;
}
