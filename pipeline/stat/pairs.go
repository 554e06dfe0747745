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
func (p Pairs) Boots() int { return len(p.Blocks()) }

// Upto returns the pairs of the first n blocks, in the order in which the blocks appear.
func (p Pairs) Upto(n int) Pairs {
	order := p.Blocks()
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
	by := p.ByBlock()
	var out []float64
	for _, b := range p.Blocks() {
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

// Blocks lists the distinct blocks in the order in which they appear.
func (p Pairs) Blocks() []int {
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

// ByBlock returns the log ratios of each block in their order.
func (p Pairs) ByBlock() map[int][]float64 {
	by := map[int][]float64{}
	for i, b := range p.Block {
		by[b] = append(by[b], p.Diff[i])
	}
	return by
}

// BlockCentres returns one estimate for each block.
func (p Pairs) BlockCentres() map[int][]float64 {
	out := map[int][]float64{}
	for b, d := range p.ByBlock() {
		out[b] = []float64{HodgesLehmann(d)}
	}
	return out
}
