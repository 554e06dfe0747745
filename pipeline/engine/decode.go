package engine

import (
	"errors"
	"fmt"

	"pgpipeline/pipeline/internal/redact"
	"pgpipeline/pipeline/internal/spec"
)

// decode returns the parameters of a stage in one cell, checked and pinned.
func (p *planner) decode(i int, c cell) (Stage, *spec.Value, error) {
	decl := &p.exp.Stages[i]
	kind := p.kinds[decl.Kind]
	scope, err := p.namesOf(c)
	if err != nil {
		return nil, nil, err
	}
	params, err := stageParams(p.exp, decl, kind, scope)
	if err != nil {
		return nil, nil, err
	}
	stage := kind.New()
	if params != nil {
		if err := spec.Decode(params, stage); err != nil {
			return nil, nil, spec.Prefix(fmt.Sprintf("stage %q: ", decl.Kind), err)
		}
	}
	if s, ok := stage.(Based); ok {
		s.SetBase(p.Base)
	}
	if s, ok := stage.(Checker); ok {
		if err := s.Check(p.Host); err != nil {
			return nil, nil, p.at(params, decl, err)
		}
	}
	if s, ok := stage.(Secretive); ok {
		redact.Hide(s.Secrets()...)
	}
	if s, ok := stage.(Pinner); ok {
		if err := p.pin(s); err != nil {
			return nil, nil, p.at(params, decl, err)
		}
	}
	return stage, params, nil
}

func (p *planner) namesOf(c cell) (names, error) {
	if n, ok := p.names[c.key()]; ok {
		return n, nil
	}
	n, err := newNames(p.exp, p.Host, c)
	p.names[c.key()] = n
	return n, err
}

func (p *planner) pin(s Pinner) error {
	address := s.Address()
	known := p.plan.Pins[address]
	if known == nil && !p.Update {
		if locked, ok := p.Locks[address]; ok {
			known = &locked
		}
	}
	if known == nil && p.Locked {
		return &FieldError{Err: fmt.Errorf("%q is not in the lock file, and --locked forbids resolving it", address),
			Hint: "run `pipeline lock` and commit the lock file"}
	}
	pin, err := s.Pin(p.ctx, known)
	if err != nil {
		return err
	}
	if pin == nil { // nothing about this source moves
		return nil
	}
	if was, ok := p.Locks[address]; !ok || was.Resolved != pin.Resolved || was.SHA256 != pin.SHA256 {
		p.plan.NewPins = true
	}
	p.plan.Pins[address] = pin
	return nil
}

// at turns an error about a parameter into one that points at its line.
func (p *planner) at(params *spec.Value, decl *spec.StageDecl, err error) error {
	var known *spec.Error
	var several spec.Errors
	if errors.As(err, &known) || errors.As(err, &several) {
		return err
	}
	pos, hint := decl.Pos, ""
	var f *FieldError
	if errors.As(err, &f) {
		hint = f.Hint
		if v := params.Find(f.Field); v != nil {
			pos = v.Pos
		}
	}
	return p.exp.ErrorAt(pos, fmt.Sprintf("stage %q: %v", decl.Kind, err), hint)
}
