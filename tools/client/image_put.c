/* SPDX-License-Identifier: GPL-2.0-only */
/* image put: from a file or a pipe, with how far it is on a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "margay.h"

#define SHOWN_AGAIN_NS 200000000

static const char *sent; /* its name */

/* Where the last piece has gone the line goes, too. */
static void progress(unsigned long bytes, unsigned long size)
{
	static struct timespec last;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (bytes < size &&
	    (now.tv_sec - last.tv_sec) * 1000000000 + now.tv_nsec - last.tv_nsec < SHOWN_AGAIN_NS)
		return;
	last = now;
	if (bytes < size)
		fprintf(stderr, "\r%s: %lu %% of %lu MiB\033[K", sent, bytes * 100 / size,
			size >> 20);
	else
		fprintf(stderr, "\r\033[K");
}

/* What is known of it beforehand. */
static void take_known(const struct words *w, struct margay_image *image)
{
	char *end = NULL;

	if (!w->sha256 && !w->size)
		return;
	if (!w->sha256 || !w->size)
		fail(USAGE, "image put", "expected --sha256 and --size, or none of them");
	if (strlen(w->sha256) != sizeof(image->sha256) - 1 ||
	    strspn(w->sha256, "0123456789abcdef") != sizeof(image->sha256) - 1)
		fail(USAGE, "image put --sha256", "expected 64 hexadecimal digits");
	errno = 0;
	image->size = strtoul(w->size, &end, 10);
	if (errno || *end || strspn(w->size, "0123456789") != strlen(w->size) || !*w->size)
		fail(USAGE, "image put --size", "expected a number of bytes");
	snprintf(image->sha256, sizeof(image->sha256), "%s", w->sha256);
	image->known = 1;
}

void command_image_put(const struct words *w)
{
	const char *file = w->arg[0];
	int is_pipe = !strcmp(file, "-"), fd = is_pipe ? STDIN_FILENO : open(file, O_RDONLY), err;
	struct margay_image image = { .name = w->arg[1], .replace = w->replace };
	char *answer = NULL;

	take_known(w, &image);
	if (is_pipe && !image.name)
		fail(USAGE, "image put -", "expected a name behind it");
	if (fd < 0)
		fail(BROKEN, file, strerror(errno));
	if (!image.name)
		image.name = basename(w->arg[0]);
	sent = image.name;
	image.progress = isatty(STDERR_FILENO) ? progress : NULL;
	err = margay_send_image(node, &image, fd, &answer);
	if (err && image.progress)
		progress(1, 1);
	if (err < 0)
		fail(BROKEN, file,
		     errno == ENODATA ? "not so many bytes as --size says" : strerror(errno));
	if (err)
		fail(REFUSED, answer, NULL);
	if (!json)
		return;
	printf("{\"name\":");
	json_text(image.name, strlen(image.name));
	printf(",\"size\":%lu,\"sha256\":\"%s\",\"sent\":%s}\n", image.size, image.sha256,
	       image.sent ? "true" : "false");
}
