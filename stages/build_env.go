package stages

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
)

// BuildVariable is the value of one environment variable of a build.
type BuildVariable struct {
	Value  string `yaml:"value,scalar" doc:"the value"`
	Secret string `yaml:"secret" doc:"in place of a value: the name of a variable of this program's own environment that has it"`
}

// MarshalText is what the cache key has of it: of a secret its name alone. A hash of the value would let everybody who reads
// a recipe try values out.
func (v BuildVariable) MarshalText() ([]byte, error) {
	if v.Secret != "" {
		return []byte("secret " + v.Secret), nil
	}
	return []byte(v.Value), nil
}

// leastSecret is the length of the shortest value that can be masked: a shorter one would be taken out of ordinary words.
const leastSecret = 6

// becomesPart matches variables that configure and make write into what they build.
var becomesPart = regexp.MustCompile(`FLAGS|^(CC|CPP|CXX|LIBS|PATH|PKG_CONFIG.*|.*_LIBS|LLVM_CONFIG|CLANG|PERL|PYTHON|TCLSH)$`)

func (b *BuildStage) checkEnv() error {
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		field, v := "env."+name, b.Env[name]
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00") || name == "HOME" || name == "TMPDIR":
			return &engine.FieldError{Field: field, Err: fmt.Errorf("the variable %q cannot be set", name)}
		case v.Secret == "":
		case v.Value != "":
			return &engine.FieldError{Field: field, Err: fmt.Errorf("%s has both a value and a secret", name)}
		case becomesPart.MatchString(name):
			return &engine.FieldError{Field: field, Err: fmt.Errorf("%s becomes part of what is built, so it cannot be a secret", name)}
		}
	}
	return nil
}

// plainEnv is the environment without secrets: what is looked for, and what the key is made of, does not depend on them.
func (b *BuildStage) plainEnv() map[string]string {
	env := map[string]string{}
	for name, v := range b.Env {
		if v.Secret == "" {
			env[name] = v.Value
		}
	}
	return env
}

// Secrets are the values that must not be shown, as far as they are set: planning needs none.
func (b *BuildStage) Secrets() []string {
	var out []string
	for _, v := range b.Env {
		if v.Secret != "" {
			out = append(out, os.Getenv(v.Secret))
		}
	}
	return out
}

// environment is what the build gets.
func (b *BuildStage) environment() (map[string]string, error) {
	env := b.plainEnv()
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		from := b.Env[name].Secret
		if from == "" {
			continue
		}
		value := os.Getenv(from)
		var err error
		switch {
		case value == "":
			err = fmt.Errorf("$%s is not set", from)
		case strings.ContainsRune(value, '\n'):
			err = fmt.Errorf("$%s has more than one line", from)
		case len(value) < leastSecret:
			err = fmt.Errorf("$%s has fewer than %d characters, which cannot be masked", from, leastSecret)
		}
		if err != nil {
			return nil, &engine.FieldError{Field: "env." + name, Err: fmt.Errorf("the secret %s: %w", name, err)}
		}
		env[name] = value
	}
	return env, nil
}
