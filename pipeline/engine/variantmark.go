package engine

// VariantMark stands between a variant's name and a line of its server in the log of a stage that measures: the servers of all
// variants write into one log, in the order of time, and a report tells them apart by it.
const VariantMark = "| "
