package stages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/postgres"
)

// Files of a config entry.
const (
	confFile       = "postgresql.conf"
	configInfoFile = "config.json"
)

// defaultSharedBuffers is what initdb writes where the machine allows it.
const defaultSharedBuffers = 128 << 20

// ConfigInfo is what a config entry says about itself.
type ConfigInfo struct {
	Version  string             `json:"version"`  // of the server that checked it
	Settings []postgres.Setting `json:"settings"` // in effect, by name
	InitDB   []string           `json:"initdb,omitempty"`
	// Dropped are settings that the server refused and the config allowed to leave out.
	Dropped []DroppedSetting `json:"dropped,omitempty"`
	// OtherVersions are settings whose bounds exclude this server.
	OtherVersions []DroppedSetting `json:"other_versions,omitempty"`
}

// DroppedSetting is a setting that is not in effect.
type DroppedSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Reason string `json:"reason"`
}

// Setting returns the value of a setting; false when the config does not give it.
func (c ConfigInfo) Setting(name string) (string, bool) {
	for _, s := range c.Settings {
		if strings.EqualFold(s.Name, name) {
			return s.Value, true
		}
	}
	return "", false
}

// ReadConfig reads what the config entry in dir says about itself.
func ReadConfig(dir string) (ConfigInfo, error) {
	var info ConfigInfo
	return info, readInfo(dir, configInfoFile, "config", &info)
}

// SharedBuffers returns the size of shared_buffers in the config entry in dir, in bytes.
func SharedBuffers(dir string) (int64, error) {
	info, err := ReadConfig(dir)
	if err != nil {
		return 0, err
	}
	text, given := info.Setting("shared_buffers")
	if !given {
		return defaultSharedBuffers, nil
	}
	size, err := memorySetting(text, 8<<10)
	if err != nil {
		return 0, fmt.Errorf("shared_buffers: %w", err)
	}
	return size, nil
}

// memorySetting reads a size as the server does: a number without a unit counts in the setting's own unit.
func memorySetting(text string, unit int64) (int64, error) {
	text = strings.TrimSpace(text)
	var size engine.Bytes
	if err := size.UnmarshalText([]byte(text)); err != nil {
		return 0, err
	}
	if strings.Trim(text, "0123456789.") == "" {
		return int64(size) * unit, nil
	}
	return int64(size), nil
}

func writeConfig(dir string, info ConfigInfo) error { return writeInfo(dir, configInfoFile, info) }

// readInfo reads the file in which an entry of a kind describes itself.
func readInfo(dir, file, kind string, into any) error {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if os.IsNotExist(err) {
		return fmt.Errorf("read %s: %s holds no %s, so no %s stage made it", kind, dir, file, kind)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", kind, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %s: %w", kind, filepath.Join(dir, file), err)
	}
	return nil
}

func writeInfo(dir, file string, info any) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), append(text, '\n'), 0o644)
}
