package stages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/postgres"
)

// Configuration is the kind that turns layered settings into a postgresql.conf.
var Configuration = engine.Kind{
	Name: "config",
	Doc: `Check settings against the built server and write its postgresql.conf

Settings are layered: extends takes one named config or a list, merged from left to right, and what stands beside it wins.
A value can be bounded to server versions: {value: lz4, since: 15}. The built server itself then checks every setting,
before any data is loaded: unknown names, values out of range, wrong units, and values that this build does not support.
What it does not support is an error, or is left out with a warning where the config says unsupported: drop. The file comes
on top of the one that initdb writes, so the last setting wins. A changed setting restarts the server and measures again; only
initdb options reach the loaded data.`,
	Scope:     engine.Pure,
	Takes:     []engine.Take{{Kind: "build"}},
	Catalogue: "configs",
	New:       func() engine.Stage { return &ConfigStage{Unsupported: failUnsupported} },
}

// ConfigStage is the parameters of a config stage.
type ConfigStage struct {
	Settings    map[string]SettingValue `yaml:"settings" doc:"settings of the server by name; a value can have bounds: {value: 256MB, since: 16}; null removes an inherited setting"`
	InitDB      []InitOption            `yaml:"initdb,one" doc:"options of initdb, such as --data-checksums or {option: --no-data-checksums, since: 18}; they are part of the load's key"`
	Unsupported Unsupported             `yaml:"unsupported" doc:"what to do with a setting that this server does not have, or a value that this build does not support: error or drop"`
}

// SettingValue is one setting: its text, and the versions that get it.
type SettingValue struct {
	Value       string         `yaml:"value,scalar" doc:"the value as in postgresql.conf, without quotes"`
	Since       engine.Version `yaml:"since" doc:"first server version that gets the setting"`
	Until       engine.Version `yaml:"until" doc:"last server version that gets the setting"`
	Unsupported Unsupported    `yaml:"unsupported" doc:"error or drop, for this setting alone"`
}

// InitOption is one option of initdb, and the versions that get it.
type InitOption struct {
	Option string         `yaml:"option,scalar" doc:"the option with its value, such as --wal-segsize=64"`
	Since  engine.Version `yaml:"since" doc:"first server version that gets the option"`
	Until  engine.Version `yaml:"until" doc:"last server version that gets the option"`
}

// Unsupported says what to do with what a server does not support.
type Unsupported string

const (
	failUnsupported Unsupported = "error"
	dropUnsupported Unsupported = "drop"
)

// Enum lists the choices.
func (Unsupported) Enum() []string { return []string{string(failUnsupported), string(dropUnsupported)} }

// reservedSettings are decided by the runner, or would run programs: a config is no stage to run programs in.
var reservedSettings = map[string]string{
	"config_file":             "the runner decides where files are",
	"data_directory":          "the runner decides where files are",
	"external_pid_file":       "the runner decides where files are",
	"hba_file":                "the runner decides who may connect",
	"ident_file":              "the runner decides who may connect",
	"listen_addresses":        "servers listen on a private socket only",
	"log_destination":         "the runner reads the server's log",
	"logging_collector":       "the runner reads the server's log",
	"port":                    "servers listen on a private socket only",
	"unix_socket_directories": "servers listen on a private socket only",
	"unix_socket_group":       "servers listen on a private socket only",
	"unix_socket_permissions": "servers listen on a private socket only",
	"archive_cleanup_command": "it would run a program",
	"archive_command":         "it would run a program",
	"recovery_end_command":    "it would run a program",
	"restore_command":         "it would run a program",
	"ssl_passphrase_command":  "it would run a program",
	"dynamic_library_path":    "it would load programs from anywhere",
	"extension_control_path":  "it would load programs from anywhere",
	"include":                 "write its settings here, or use extends",
	"include_dir":             "write its settings here, or use extends",
	"include_if_exists":       "write its settings here, or use extends",
}

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// Check refuses what no server could take, or what the runner decides.
func (c *ConfigStage) Check(engine.HostFacts) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		if err := checkSetting(name, c.Settings[name].Value); err != nil {
			errs = append(errs, &engine.FieldError{Field: "settings." + name, Err: err})
		}
	}
	if err := postgres.CheckInitOptions(c.initOptions("")); err != nil {
		errs = append(errs, &engine.FieldError{Field: "initdb", Err: err})
	}
	return errors.Join(errs...)
}

func checkSetting(name, value string) error {
	if !settingName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a setting", name)
	}
	lower := strings.ToLower(name)
	if why, reserved := reservedSettings[lower]; reserved {
		return fmt.Errorf("the setting %q cannot be given: %s", name, why)
	}
	if strings.ContainsAny(value, "\n\r\x00") {
		return fmt.Errorf("the value of %q has more than one line", name)
	}
	if (strings.HasSuffix(lower, "_libraries") || lower == "archive_library" || lower == "jit_provider") && strings.Contains(value, "/") {
		return fmt.Errorf("the setting %q may name libraries of the server only, not %q", name, value)
	}
	return nil
}

// initOptions are those for one server version; all of them for "".
func (c *ConfigStage) initOptions(version engine.Version) []string {
	var out []string
	for _, o := range c.InitDB {
		if version == "" || version.Within(o.Since, o.Until) {
			out = append(out, o.Option)
		}
	}
	return out
}

// Run checks the settings with the built server and writes those that it gets.
func (c *ConfigStage) Run(ctx context.Context, env *engine.Env) error {
	install, err := postgres.Open(env.Inputs["build"].Dir)
	if err != nil {
		return err
	}
	info := c.forVersion(install.Version)
	if err := c.drop(install.CheckSettings(ctx, info.Settings), &info); err != nil {
		return err
	}
	for _, d := range info.Dropped {
		env.Warn("%s = %s is left out: %s", d.Name, d.Value, d.Reason)
		env.Fact("dropped "+d.Name, d.Value+": "+d.Reason)
	}
	for _, s := range info.Settings {
		env.Fact(s.Name, s.Value)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, confFile), []byte(postgres.Conf(info.Settings)), 0o644); err != nil {
		return err
	}
	return writeConfig(env.Dir, info)
}

// forVersion sorts the settings by name and sets aside those that are meant for other versions.
func (c *ConfigStage) forVersion(version string) ConfigInfo {
	info := ConfigInfo{Version: version, Settings: []postgres.Setting{}, InitDB: c.initOptions(engine.Version(version))}
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		s := c.Settings[name]
		if engine.Version(version).Within(s.Since, s.Until) {
			info.Settings = append(info.Settings, postgres.Setting{Name: name, Value: s.Value})
			continue
		}
		info.OtherVersions = append(info.OtherVersions, DroppedSetting{Name: name, Value: s.Value, Reason: bounds(s)})
	}
	return info
}

func bounds(s SettingValue) string {
	switch {
	case s.Until == "":
		return fmt.Sprintf("since %s", s.Since)
	case s.Since == "":
		return fmt.Sprintf("until %s", s.Until)
	}
	return fmt.Sprintf("from %s to %s", s.Since, s.Until)
}

// drop takes out what the server does not support and the config allows to be left out; all else is an error.
func (c *ConfigStage) drop(refusal error, info *ConfigInfo) error {
	if refusal == nil {
		return nil
	}
	refused := map[string]*postgres.SettingError{}
	var errs []error
	for _, err := range unjoin(refusal) {
		var s *postgres.SettingError
		switch {
		case !errors.As(err, &s):
			errs = append(errs, err)
		case s.Unsupported() && c.choice(s.Name) == dropUnsupported:
			refused[s.Name] = s
		default:
			errs = append(errs, c.fieldError(s))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	info.Settings = slices.DeleteFunc(info.Settings, func(s postgres.Setting) bool {
		e, bad := refused[s.Name]
		if bad {
			info.Dropped = append(info.Dropped, DroppedSetting{Name: s.Name, Value: s.Value, Reason: e.Reason()})
		}
		return bad
	})
	return nil
}

func (c *ConfigStage) choice(name string) Unsupported {
	if own := c.Settings[name].Unsupported; own != "" {
		return own
	}
	return c.Unsupported
}

func (c *ConfigStage) fieldError(s *postgres.SettingError) error {
	hint := s.Hint
	if s.Unsupported() && hint == "" {
		hint = "bound it with since or until, or say unsupported: drop"
	}
	return &engine.FieldError{Field: "settings." + s.Name, Err: fmt.Errorf("setting %s = %s: %s", s.Name, s.Value, s.Msg), Hint: hint}
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
