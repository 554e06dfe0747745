package main

import (
	"errors"
	"fmt"
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
	if opt.Noise, err = loadCalibration(calibrationPath(info, host)); err != nil {
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
		accept := gate.Accept{Step: a.Step, Metric: a.Metric, Size: a.Size, Reason: a.Reason, Until: a.Ends(), By: a.By}
		if wrong := accept.Check(); wrong != "" {
			return nil, usage("%s: %s", a.Pos, wrong)
		}
		out = append(out, accept)
	}
	return out, nil
}

// calibrationPath is where the noise of an experiment on a machine is kept: beside the runs, and fit for git.
func calibrationPath(info engine.ExperimentInfo, host engine.HostFacts) string {
	return filepath.Join(runsDir(filepath.Dir(info.Path)), "noise", info.Name+"-"+host.MachineID+".json")
}

// loadCalibration returns nil when this experiment was never calibrated on this machine.
func loadCalibration(path string) (*gate.Calibration, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := gate.ReadCalibration(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func saveCalibration(path string, c *gate.Calibration) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeFile(path, c.Write)
}

// inFile shows mistakes in assertions with the line of the file that they stand in.
func inFile(e *spec.Experiment, err error) error {
	var list []error
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		list = joined.Unwrap()
	} else if err != nil {
		list = []error{err}
	}
	var placed spec.Errors
	for _, one := range list {
		var mistake *gate.Error
		if !errors.As(one, &mistake) {
			return err
		}
		at := e.AssertError(mistake.Expr, mistake.Offset, mistake.Msg, mistake.Hint)
		if at == nil {
			return err
		}
		placed = append(placed, at)
	}
	if len(placed) == 0 {
		return err
	}
	return placed.Tidy()
}
