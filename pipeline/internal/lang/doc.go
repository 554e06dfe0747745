// Package lang is the expression language of experiment files: templates such as "${rows}" and assertions such as
// relqps("hot-points") > 0.95. It is the only importer of expr.
//
// An assertion goes through it in this order:
//
//  1. Compile parses the text, refuses what is too large or too deep, and checks every call against the functions that the
//     caller declares (library.go): names, argument kinds, and whatever the caller knows of steps and variants.
//  2. Comparisons, "&&", "||" and "!" are rewritten to calls (rewrite.go), so that both sides are always evaluated and an
//     unknown operand gives the Kleene answer instead of a Go zero value.
//  3. Program.Eval runs it against one Resolver, which turns a call into a Quantity (value.go).
//
// Read value.go first: the types of the language are there, and with them what may be compared with what.
package lang
