package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Is this machine fit to build and to measure?", Args: cobra.NoArgs,
		Long: "Each finding comes with its remedy. Exits with 6 when something is missing without which nothing runs.",
		RunE: func(c *cobra.Command, args []string) error {
			findings := examine()
			if asJSON {
				return printJSON(a.stdout, findings)
			}
			bad := 0
			for _, f := range findings {
				fmt.Fprintf(a.stdout, "%-5s %s: %s\n", f.Level, f.About, f.Text)
				if f.Remedy != "" {
					fmt.Fprintf(a.stdout, "      %s\n", f.Remedy)
				}
				if f.Level == "error" {
					bad++
				}
			}
			if bad > 0 {
				return &codeError{code: exitInfrastructure}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return c
}
