package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/gate"
	"pgpipeline/pipeline/internal/spec"
)

// acceptName is the file beside an experiment that lists known regressions.
const acceptName = "accept.yaml"

// judgeOf compiles assertions and gives the gate what it may take into account: this machine's calibration, and the accepted
// regressions that lie beside the experiment.
func judgeOf(info engine.ExperimentInfo, facets []engine.Facet, host engine.HostFacts) (*gate.Gate, error) {
	g, err := gate.Compile(info.Asserts, facets, info.Groups)
	if err != nil {
		return nil, err
	}
	var opt gate.Options
	dir := filepath.Dir(info.Path)
	if opt.Noise, err = loadCalibration(calibrationPath(dir, host)); err != nil {
		return nil, err
	}
	if opt.Accept, err = loadAccepted(filepath.Join(dir, acceptName)); err != nil {
		return nil, err
	}
	return g.Use(opt), nil
}

func loadAccepted(path string) ([]gate.Accept, error) {
	list, err := spec.LoadAccept(path)
	if err != nil {
		return nil, err
	}
	var out []gate.Accept
	for _, a := range list {
		// The date itself still counts.
		accept := gate.Accept{Step: a.Step, Metric: a.Metric, Size: a.Size, Reason: a.Reason, Until: a.Until.Time.AddDate(0, 0, 1), By: a.By}
		if wrong := accept.Check(); wrong != "" {
			return nil, usage("%s: %s", a.Pos, wrong)
		}
		out = append(out, accept)
	}
	return out, nil
}

// calibrationPath is where the noise of a machine is kept: beside the runs, and fit for git.
func calibrationPath(dir string, host engine.HostFacts) string {
	return filepath.Join(runsDir(dir), "noise", host.MachineID+".json")
}

// loadCalibration returns nil when this machine was never calibrated.
func loadCalibration(path string) (*gate.Calibration, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c gate.Calibration
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read calibration %s: %w; `pipeline noise` writes a new one", path, err)
	}
	if c.Version != gate.CalibrationVersion {
		return nil, nil // written by another version of the tool: as good as none
	}
	return &c, nil
}

func saveCalibration(path string, c *gate.Calibration) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
}
