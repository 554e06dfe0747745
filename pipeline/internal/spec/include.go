package spec

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"pgpipeline/pipeline/internal/lang"
)

// maxIncludes is how many files one experiment may include.
const maxIncludes = 100

// includes reads the files that a file includes, each once however often it is named.
func (l *loader) includes(list []*Value) {
	for _, v := range list {
		path, ok := l.includePath(v)
		if !ok || contains(l.exp.Includes, path) {
			continue
		}
		if at := slices.Index(l.chain, path); at >= 0 {
			l.fail(v, "", "include goes in a circle: %s", strings.Join(append(slices.Clone(l.chain[at:]), path), " -> "))
			continue
		}
		if len(l.exp.Includes) >= maxIncludes {
			l.fail(v, "", "more than %d included files", maxIncludes)
			return
		}
		l.include(path, v)
	}
}

// includePath is the path of an included file as messages show it: relative to where the tool was started, as the including
// file's own path is.
func (l *loader) includePath(v *Value) (string, bool) {
	switch {
	case v.Kind != Scalar || v.Text == "":
		l.fail(v, "", "include takes paths of files, not %s", v.describe())
	case strings.Contains(v.Text, "://") || strings.Contains(v.Text, "::"):
		l.fail(v, "copy it beside the experiment, so that a review sees it change", "include takes local files, not %s", quote(v.Text))
	case filepath.IsAbs(v.Text) || strings.HasPrefix(v.Text, "~"):
		l.fail(v, "write it relative to this file", "include %s is an absolute path", quote(v.Text))
	case lang.HasTemplate(v.Text):
		l.fail(v, "name the file itself", "${ } is not evaluated in include")
	default:
		return filepath.Join(filepath.Dir(v.File), filepath.FromSlash(v.Text)), true
	}
	return "", false
}

// include reads one file.
func (l *loader) include(path string, at *Value) {
	text, err := l.opt.ReadFile(path)
	if err != nil {
		l.fail(at, "paths are relative to this file", "include %s: %v", quote(at.Text), cause(err))
		return
	}
	root, ok := l.parse(path, text)
	if !ok {
		return
	}
	for _, k := range root.Keys {
		if contains(knownKeys(document{}), k.Name) && !contains(knownKeys(library{}), k.Name) {
			l.failAt(root, k.Pos, "it belongs in the experiment itself",
				"an included file may not have %q: it holds named fragments, vars and groups", k.Name)
			root = root.Without(k.Name)
		}
	}
	var lib library
	l.errs.add(Decode(root, &lib))
	if lib.Version != 0 {
		l.version(root, lib.Version)
	}
	l.chain = append(l.chain, path)
	l.includes(lib.Include)
	l.chain = l.chain[:len(l.chain)-1]
	l.exp.Includes = append(l.exp.Includes, path)
	l.vars(lib.Vars)
	l.groups(lib.Groups)
	l.catalogues(root, lib.Catalogues, knownKeys(library{}))
}

// knownKeys are the keys of a top-level struct.
func knownKeys(of any) []string { return shapeOf(reflect.TypeOf(of)).names }

// builtins adds the fragments that kinds bring along.
func (l *loader) builtins() {
	for _, kind := range l.opt.Kinds {
		if kind.Catalogue == "" {
			continue
		}
		if l.exp.Catalogues[kind.Catalogue] == nil {
			l.exp.Catalogues[kind.Catalogue] = map[string]*Value{}
		}
		for name, text := range kind.Fragments {
			file := kind.Catalogue + "/" + name + " (built in)"
			v, src, err := parse(file, []byte(text))
			l.errs.add(err)
			if err != nil {
				continue
			}
			l.exp.sources[file] = src
			l.exp.Catalogues[kind.Catalogue][name] = v
			l.places[fragmentOf(kind.Catalogue)+" "+name] = &Value{}
		}
	}
}

// fragmentOf is what messages call a member of a catalogue: "builds" -> "build".
func fragmentOf(catalogue string) string { return strings.TrimSuffix(catalogue, "s") }

// catalogues takes the named fragments of one file. known are the other keys that the file may have.
func (l *loader) catalogues(root *Value, found map[string]*Value, known []string) {
	for _, k := range root.Keys {
		v, ok := found[k.Name]
		if !ok {
			continue
		}
		into := l.exp.Catalogues[k.Name]
		if into == nil {
			if !l.errs.full() {
				l.errs = append(l.errs, root.src.unknownKey(k, slices.Concat(known, l.catalogueNames())))
			}
			continue
		}
		for _, fragment := range l.entries(k.Name, v) {
			l.fragment(k.Name, fragment, into)
		}
	}
}

func (l *loader) fragment(catalogue string, k Key, into map[string]*Value) {
	switch {
	case k.Value.Kind != Map && k.Value.Kind != Null:
		l.fail(k.Value, "", "%s %q must be a mapping, not %s", fragmentOf(catalogue), k.Name, k.Value.describe())
	case k.Name == "" || lang.HasTemplate(k.Name):
		l.failAt(k.Value, k.Pos, "", "%s cannot be the name of a %s", quote(k.Name), fragmentOf(catalogue))
	case l.define(fragmentOf(catalogue), k.Name, k):
		into[k.Name] = k.Value
	}
}

func (l *loader) catalogueNames() []string {
	var names []string
	for _, kind := range l.opt.Kinds {
		if kind.Catalogue != "" {
			names = append(names, kind.Catalogue)
		}
	}
	return names
}

// fragments resolves every fragment once, so that an unknown name or a circle is found even in one that no stage uses.
func (l *loader) fragments() {
	for _, catalogue := range l.catalogueNames() {
		for _, name := range l.exp.Names(catalogue) {
			if l.errs.full() {
				return
			}
			_, err := l.exp.Fragment(catalogue, name, l.exp.Catalogues[catalogue][name].Pos)
			l.errs.add(err)
		}
	}
}
