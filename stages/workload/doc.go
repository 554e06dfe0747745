// Package workload says what a benchmark step does: the statements it sends, the keys it draws, how it is counted, which data it needs
// and in which order the published suites run it.
//
// Read workload.go first: a Workload is a family of steps with its data, its lists and its groups, and All has them all. To add
// one, write a file that declares it and add one line to All. resolve.go turns what an experiment file says into steps; load.go fills a
// database; maintain.go is what happens between steps.
//
// sysbench.go and the files named after it are the microbenchmarks of the sysbench family as mdcallag/mytools runs them for the Small
// Datum blog, written anew from their description.
package workload
