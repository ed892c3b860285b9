/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a fuzz target on the files of a folder, each once, without libFuzzer:
 * `make test` replays the corpora with it, and so does the coverage build. A
 * folder that is missing or empty is an error.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "replay: %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	u8 *data;

	if (!f || fstat(fileno(f), &st))
		fail("cannot open", path);
	data = malloc((size_t)st.st_size + 1);
	if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		fail("cannot read", path);
	fclose(f);
	/* Exactly as large as the input. */
	data = realloc(data, (size_t)st.st_size ? (size_t)st.st_size : 1);
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
}

int main(int argc, char **argv)
{
	unsigned count = 0;
	struct dirent **list;

	if (argc != 2) {
		fprintf(stderr, "usage: %s <corpus folder or file>\n", argv[0]);
		return 2;
	}
	errno = 0;
	int n = scandir(argv[1], &list, NULL, alphasort);

	if (n < 0 && errno == ENOTDIR) {
		run_file(argv[1]);
		return 0;
	}
	if (n < 0)
		fail("cannot read folder", argv[1]);
	for (int i = 0; i < n; i++) {
		char path[4096];

		if (list[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", argv[1], list[i]->d_name);
			run_file(path);
			count++;
		}
		free(list[i]);
	}
	free(list);
	printf("replayed %u inputs\n", count);
	return count ? 0 : 1;
}
