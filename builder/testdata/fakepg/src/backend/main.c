/* Every program of the stand-in: it says its name and version, how and where it was compiled. */
#include <stdio.h>
#include <string.h>

extern int pq_answer(void);
extern int gram_answer(void);

const char *configure = VAL_CONFIGURE;
const char *flags = VAL_CFLAGS;

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	if (argc > 1 && strcmp(argv[1], "--where") == 0)
		return printf("%s\n", __FILE__) < 0;
	if (argc > 1 && strcmp(argv[1], "--options") == 0)
		return printf("%s\n%s\n", configure, flags) < 0;
	if (argc > 1 && strcmp(argv[1], "--sharedir") == 0)
		return printf("%.*s../share/postgresql\n", (int) (slash - argv[0] + 1), argv[0]) < 0;
	if (strcmp(name, "pg_config") == 0)
		return printf("PostgreSQL %s\n", VERSION) < 0;
	printf("%s (PostgreSQL) %s\n", name, VERSION);
	return pq_answer() + gram_answer() != 42;
}
