package stat

//go:generate go run ./genlevels

// Schedule is a plan of looks. It does not depend on a budget: a run that is topped up later, or run again, goes on along
// the same boundary, so nobody gets a fresh draw by asking twice. The price: for alpha = 5 % a plan of twelve blocks alone
// could use a level of 1.1 % at each of its looks; here it is 1.2 % at the first, 0.7 % at the sixth, 0.5 % at the last.
type Schedule int

const (
	// Steady looks after blocks: for steps that give many pairs per block.
	Steady Schedule = iota
	// Whole looks after pairs, one of which comes with each block: for steps that run uninterrupted, and for metrics that
	// exist once per block. Five pairs decide nothing at any level in use, so the first look is at six.
	Whole
)

var (
	steadyLooks = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128}
	wholeLooks  = []int{6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128}
)

// Looks are the counts of blocks at which the schedule looks.
func (s Schedule) Looks() []int {
	if s == Whole {
		return wholeLooks
	}
	return steadyLooks
}

// Spent is the share of alpha that may be spent by the k-th look. Early looks get most: half of it by the third steady
// block, and with alpha = 5 % just enough at six whole pairs for all six to agree (1/64).
func (s Schedule) Spent(k int) float64 {
	n := float64(s.Looks()[k])
	if s == Whole {
		return n / (n + 12)
	}
	return n / (n + 3)
}

// Attainable is the largest level at or below p that can be reached at the k-th look, 0 when none can. Whole pairs come
// in ones, and six of them give no p-value between 1/64 and 0; steady steps are taken to have pairs enough for any level, which
// errs on the safe side when they do not.
func (s Schedule) Attainable(k int, p float64) float64 {
	if s == Whole {
		return attainable(wholeLooks[k], p)
	}
	return p
}

// Level is the one-sided level of the k-th look when alpha is the chance of a false claim over all looks together. Alphas
// between the rows of the table take the stricter row; those beyond its end get the union bound.
func (s Schedule) Level(k int, alpha float64) float64 {
	table := levelTable[s]
	for i, row := range levelAlphas {
		if row <= alpha*(1+1e-9) {
			return table[i][k]
		}
	}
	share := s.Spent(k)
	if k > 0 {
		share -= s.Spent(k - 1)
	}
	return s.Attainable(k, alpha*share)
}

// LooksBy is how many looks have been had once n blocks are measured.
func (s Schedule) LooksBy(n int) int {
	k := 0
	for _, at := range s.Looks() {
		if at <= n {
			k++
		}
	}
	return k
}

// FirstReachable is the count of blocks at which the schedule can reject for the first time at this alpha, whatever the
// data; 0 when it never can.
func (s Schedule) FirstReachable(alpha float64) int {
	for k, n := range s.Looks() {
		if s.Level(k, alpha) > 0 {
			return n
		}
	}
	return 0
}
