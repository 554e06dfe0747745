package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
	"pgpipeline/stages"
)

func stagesCommand(a *app) *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use: "stages [KIND]", Short: "Describe the stage kinds and their parameters", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if markdown {
				return stagesMarkdown(a.stdout)
			}
			if len(args) == 0 {
				tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
				for _, k := range stages.All {
					summary, _, _ := strings.Cut(k.Doc, "\n")
					fmt.Fprintf(tw, "%s\t%s\n", k.Name, summary)
				}
				return tw.Flush()
			}
			for _, k := range stages.All {
				if k.Name == args[0] {
					a.describe(k)
					return nil
				}
			}
			return usage("there is no stage kind %q; `pipeline stages` lists them", args[0])
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the page docs/stages.md")
	return c
}

// stagesMarkdown is the reference page of all kinds, made from the structs that decode the file.
func stagesMarkdown(w io.Writer) error {
	fmt.Fprintln(w, "# Stages\n\nMade by `make docs` from the parameter structs; `pipeline stages KIND` prints the same.")
	for _, k := range stages.All {
		fmt.Fprintf(w, "\n## %s\n\n```\n%s\n```\n\n| parameter | value | default | |\n|---|---|---|---|\n", k.Name, k.Doc)
		for _, f := range spec.Fields(k.New()) {
			fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", f.Name, cellText(f.Type), cellText(f.Default), cellText(f.Doc))
		}
	}
	return nil
}

// cellText keeps a text inside its cell.
func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func (a *app) describe(k engine.Kind) {
	fmt.Fprintf(a.stdout, "%s: %s\n", k.Name, k.Doc)
	for i, t := range k.Takes {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nTakes:")
		}
		what := t.Kind
		if t.Field != "" {
			what += " (only `" + t.Field + "` counts towards the key)"
		}
		if t.Optional {
			what += ", optional"
		}
		fmt.Fprintln(a.stdout, "  "+what)
	}
	fmt.Fprintln(a.stdout, "\nParameters:")
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range spec.Fields(k.New()) {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", f.Name, f.Type, f.Default, f.Doc)
	}
	tw.Flush()
}

func schemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of experiment files", Args: cobra.NoArgs,
		Long: "Generated from the structs that decode the file. Point an editor at it with\n# yaml-language-server: $schema=./experiment.schema.json",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := experimentSchema()
			if err == nil {
				_, err = a.stdout.Write(text)
			}
			return err
		},
	}
}

func experimentSchema() ([]byte, error) {
	params := map[string]any{}
	for _, k := range stages.All {
		params[k.Name] = k.New()
	}
	return spec.Schema(kindInfos(), params)
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			_, err := fmt.Fprintln(a.stdout, "pipeline", toolVersion())
			return err
		},
	}
}
