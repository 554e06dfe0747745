// Package stat turns paired measurements into estimates and verdicts. It is pure: numbers in, numbers out, and it imports
// nothing of ours.
//
// The way through it:
//
//  1. Pairs (pairs.go) are log ratios, candidate over base, with the boot that each came from.
//  2. A Test (test.go) holds them and answers "how surprising would these be if the true log ratio were at least c":
//     exact signed-rank probabilities (signedrank.go), widened by what one boot of a server may differ from the next.
//  3. Its interval is the set of all c that are not rejected, so that an interval and a verdict never disagree.
//  4. A Schedule (looks.go, levels.go) says at which counts of blocks one may look, and at which level, so that stopping
//     early does not inflate the chance of a false alarm.
//  5. multiple.go corrects over many tests, power.go says what a budget can resolve, trend.go finds a warm-up's end.
//
// Read test.go first. All logarithms are natural; a log ratio of -0.05 is a slowdown of 4.9 %.
package stat
