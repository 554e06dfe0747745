package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pgpipeline/pipeline/proc"
)

// The flags of a build are part of the result: the server reports them and debug information holds them. What the build place
// needs on top of them (where the paths are, how many jobs may link) must not get in there, or two builds of one recipe
// differ in text and in layout. So compilers are called through a small front in the tools folder, which comes first in PATH.

// fronts are the compiler names that get a front, besides the one that CC names.
var fronts = []string{"gcc", "cc", "clang"}

// frontCompilers writes a front for each compiler that is there. A compiler that CC gives as a path is left alone.
func (j *job) frontCompilers(ctx context.Context) error {
	names := fronts
	if cc := compilerName(j.Env); !strings.Contains(cc, "/") && !slices.Contains(names, cc) {
		names = append([]string{cc}, names...)
	}
	for _, name := range names {
		path := lookTool(name, j.Env)
		if path == "" {
			continue
		}
		script := j.front(path, j.compilerTakes(ctx, path, "-ffile-prefix-map=/a=/b"), j.compilerTakes(ctx, path, "-flto=2"))
		if err := os.WriteFile(filepath.Join(j.tools, name), []byte(script), 0o755); err != nil {
			return fmt.Errorf("write compiler front: %w", err)
		}
	}
	return nil
}

func (j *job) front(path string, mapsPaths, parallelLTO bool) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	if parallelLTO {
		// A plain -flto links on one core. The number changes nothing in the output; the last one given counts.
		fmt.Fprintf(&b, "for arg; do\n\tif [ \"$arg\" = -flto ]; then\n\t\tset -- \"$@\" -flto=%d\n\t\tbreak\n\tfi\ndone\n", j.jobs())
	}
	fmt.Fprintf(&b, "exec %s", quote(path))
	if mapsPaths {
		for _, m := range [][2]string{{j.source, "source"}, {j.work, "build"}} {
			fmt.Fprintf(&b, " %s", quote("-ffile-prefix-map="+m[0]+"="+neutralPrefix+"/"+m[1]))
		}
	}
	b.WriteString(" \"$@\"\n")
	return b.String()
}

// compilerTakes says whether the compiler at path accepts a flag; the answer does not need to be logged.
func (j *job) compilerTakes(ctx context.Context, path, flag string) bool {
	args := []string{"-Werror", flag, "-x", "c", "-c", "-o", "/dev/null", "/dev/null"}
	return proc.Run(ctx, proc.Cmd{Path: path, Args: args, Dir: j.tmp, Env: j.env, As: j.As}) == nil
}

// compilerName is the program that CC names, "gcc" unless it is set: PostgreSQL's own choice on Linux.
func compilerName(env map[string]string) string {
	if words := strings.Fields(env["CC"]); len(words) > 0 {
		return words[0]
	}
	return "gcc"
}

// usesLTO says whether objects will hold intermediate code instead of machine code, which plain ar and ranlib cannot index.
func (j *job) usesLTO() bool {
	return slices.ContainsFunc(strings.Fields(j.CFLAGS), func(flag string) bool {
		return flag == "-flto" || strings.HasPrefix(flag, "-flto=")
	})
}

// archiver returns "AR=..." and "RANLIB=..." for link-time optimisation: the compiler's own tools, of the same version ("gcc-13"
// has gcc-ar-13). Env has the last word, and a compiler of another family is left to its user.
func (j *job) archiver() []string {
	cc := filepath.Base(compilerName(j.Env))
	family := map[bool]string{true: "gcc", false: "clang"}[strings.Contains(cc, "gcc")]
	if !j.usesLTO() || !strings.Contains(cc, family) {
		return nil
	}
	prefix := map[string]string{"gcc": "gcc-", "clang": "llvm-"}[family]
	var out []string
	for _, variable := range []string{"AR", "RANLIB"} {
		tool := strings.Replace(cc, family, prefix+strings.ToLower(variable), 1)
		if j.Env[variable] == "" && lookTool(tool, j.Env) != "" {
			out = append(out, variable+"="+tool)
		}
	}
	return out
}

// NeedsCPU says whether flags make the compiler look at the CPU it runs on, so that the result depends on it.
func NeedsCPU(flags ...string) bool {
	for _, flag := range strings.Fields(strings.Join(flags, " ")) {
		for _, option := range []string{"-march=", "-mtune=", "-mcpu="} {
			if flag == option+"native" {
				return true
			}
		}
	}
	return false
}
