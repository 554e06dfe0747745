package source

import (
	"regexp"
	"strings"
)

var (
	fileVersion = regexp.MustCompile(`[-_]v?([0-9]+(?:\.[0-9]+)*(?:(?:beta|rc|devel|alpha)[0-9]*)?)(?:[-._][a-z]|\.|$)`)
	tagVersion  = regexp.MustCompile(`^REL_?([0-9]+)(?:_([0-9]+|BETA[0-9]+|RC[0-9]+|STABLE))?(?:_([0-9]+))?$`)
)

// versionIn is the version in a file name such as "postgresql-15.3.tar.bz2"; "" when there is none.
func versionIn(name string) string {
	for _, suffix := range []string{".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".tzst", ".zip"} {
		name = strings.TrimSuffix(name, suffix)
	}
	name = strings.TrimSuffix(name, ".tar")
	m := fileVersion.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	return m[1]
}

// versionOfTag reads PostgreSQL's tags and branches: REL_17_0 is 17.0, REL_17_STABLE is 17, REL9_6_24 is 9.6.24.
func versionOfTag(tag string) string {
	m := tagVersion.FindStringSubmatch(strings.TrimPrefix(strings.TrimPrefix(tag, "refs/tags/"), "refs/heads/"))
	if m == nil {
		return strings.TrimPrefix(versionIn("-"+tag), "v")
	}
	switch {
	case m[2] == "" || m[2] == "STABLE":
		return m[1]
	case strings.HasPrefix(m[2], "BETA") || strings.HasPrefix(m[2], "RC"):
		return m[1] + strings.ToLower(m[2])
	case m[3] != "":
		return m[1] + "." + m[2] + "." + m[3]
	default:
		return m[1] + "." + m[2]
	}
}
