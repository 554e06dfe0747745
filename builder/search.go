package builder

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pgpipeline/pipeline/proc"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lookTool finds a program along the PATH that builds get; a name with a slash is taken as it is. It returns "" for none.
func lookTool(name string, env map[string]string) string {
	if strings.Contains(name, "/") {
		if isProgram(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(searchPath(env)) {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path
		}
	}
	return ""
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func searchPath(env map[string]string) string {
	if path := env["PATH"]; path != "" {
		return path
	}
	for _, kv := range proc.Environ() {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return path
		}
	}
	return ""
}

// tripletDirs are Debian's folders for one architecture each, such as /usr/include/x86_64-linux-gnu.
var tripletDirs = sync.OnceValue(func() []string {
	dirs, _ := filepath.Glob("/usr/include/*-linux-*")
	return dirs
})

// headerPresent looks where compilers do: the folders that flags name, then the system's own.
func headerPresent(name string, env map[string]string) bool {
	var dirs []string
	for _, flag := range strings.Fields(env["CPPFLAGS"] + " " + env["CFLAGS"]) {
		if dir, ok := strings.CutPrefix(flag, "-I"); ok {
			dirs = append(dirs, dir)
		}
	}
	dirs = append(dirs, "/usr/local/include", "/usr/include")
	for _, dir := range append(dirs, tripletDirs()...) {
		if exists(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

// pcFile finds NAME.pc where pkg-config looks, "" for none. Reading the file is a hundred times faster than asking pkg-config.
func pcFile(name string, env map[string]string) string {
	dirs := filepath.SplitList(env["PKG_CONFIG_PATH"])
	if only := env["PKG_CONFIG_LIBDIR"]; only != "" {
		dirs = append(dirs, filepath.SplitList(only)...)
	} else {
		dirs = append(dirs, "/usr/local/lib/pkgconfig", "/usr/local/share/pkgconfig")
		for _, dir := range tripletDirs() {
			dirs = append(dirs, filepath.Join("/usr/lib", filepath.Base(dir), "pkgconfig"))
		}
		dirs = append(dirs, "/usr/lib64/pkgconfig", "/usr/lib/pkgconfig", "/usr/share/pkgconfig")
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, name+".pc"); exists(path) {
			return path
		}
	}
	return ""
}
