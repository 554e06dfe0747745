package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pgpipeline/templates"
)

func initCommand(a *app) *cobra.Command {
	var output string
	list := ""
	for _, t := range append(templates.Starters(), templates.Workflows()...) {
		list += fmt.Sprintf("\n  %-15s %s", t.Name, t.Doc)
	}
	c := &cobra.Command{
		Use: "init [TEMPLATE]", Short: "Write a commented starter experiment or CI workflow", Args: cobra.MaximumNArgs(1),
		Long: "Never overwrites a file. Templates:" + list,
		RunE: func(c *cobra.Command, args []string) error {
			name := templates.Starters()[0].Name
			if len(args) == 1 {
				name = args[0]
			}
			t, err := templates.Find(name)
			if err != nil {
				return usage("%v", err)
			}
			path := output
			if path == "" {
				path = t.Path
			}
			if path == "" {
				path = t.Name + ".yaml"
			}
			if err := writeNew(path, t.Text); err != nil {
				return usage("%v", err)
			}
			fmt.Fprintf(a.stdout, "wrote %s\n", path)
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write")
	return c
}

// writeNew writes a file that does not exist yet.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
