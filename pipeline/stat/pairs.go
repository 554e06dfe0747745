package stat

import "math"

// Pairs are log ratios of the candidate's rate over the base's. Diff[i] was measured in boot Block[i] of both servers;
// blocks are numbered in the order of measuring and need not be consecutive.
type Pairs struct {
	Diff  []float64
	Block []int
}

// Add appends one pair.
func (p *Pairs) Add(block int, diff float64) {
	p.Diff = append(p.Diff, diff)
	p.Block = append(p.Block, block)
}

// Boots counts the distinct blocks.
func (p Pairs) Boots() int { return len(p.blocks()) }

// Upto returns the pairs of the first n blocks, in the order in which the blocks appear.
func (p Pairs) Upto(n int) Pairs {
	order := p.blocks()
	if n >= len(order) {
		return p
	}
	keep := map[int]bool{}
	for _, b := range order[:n] {
		keep[b] = true
	}
	var out Pairs
	for i, b := range p.Block {
		if keep[b] {
			out.Add(b, p.Diff[i])
		}
	}
	return out
}

// Shift returns the pairs with log ratio c added: how a regression is injected into an A/A sample.
func (p Pairs) Shift(c float64) Pairs {
	out := Pairs{Block: p.Block, Diff: make([]float64, len(p.Diff))}
	for i, d := range p.Diff {
		out.Diff[i] = d + c
	}
	return out
}

// PerBlock returns the Hodges-Lehmann estimate within each block, in order.
func (p Pairs) PerBlock() []float64 {
	by := map[int][]float64{}
	for i, b := range p.Block {
		by[b] = append(by[b], p.Diff[i])
	}
	var out []float64
	for _, b := range p.blocks() {
		out = append(out, HodgesLehmann(by[b]))
	}
	return out
}

// Spread is a robust standard deviation of the pairs: the median absolute deviation from the Hodges-Lehmann estimate,
// scaled to agree with the standard deviation of a normal sample.
func (p Pairs) Spread() float64 {
	if len(p.Diff) < 2 {
		return math.NaN()
	}
	centre := HodgesLehmann(p.Diff)
	dev := make([]float64, len(p.Diff))
	for i, d := range p.Diff {
		dev[i] = math.Abs(d - centre)
	}
	return 1.4826 * Median(dev)
}

func (p Pairs) blocks() []int {
	seen := map[int]bool{}
	var order []int
	for _, b := range p.Block {
		if !seen[b] {
			seen[b] = true
			order = append(order, b)
		}
	}
	return order
}
