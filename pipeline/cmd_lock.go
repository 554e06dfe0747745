package main

import (
	"fmt"
	"sort"

	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/spec"
)

func lockCommand(a *app) *cobra.Command {
	var set []string
	var update bool
	c := &cobra.Command{
		Use: "lock FILE", Short: "Resolve sources and write the lock file", Args: cobra.ExactArgs(1),
		Long: "Writes NAME.lock.yaml beside the experiment: what every branch, range and package name stands for today, with its\nchecksum. It belongs in git.",
		RunE: func(c *cobra.Command, args []string) error {
			_, plan, err := a.planned(c.Context(), args[0], set, engine.PlanOptions{Update: update})
			if err != nil {
				return err
			}
			locks := plan.Locks()
			if err := spec.WriteLock(spec.LockPath(args[0]), locks); err != nil {
				return err
			}
			addresses := make([]string, 0, len(locks))
			for address := range locks {
				addresses = append(addresses, address)
			}
			sort.Strings(addresses)
			for _, address := range addresses {
				fmt.Fprintf(a.stdout, "%s -> %s\n", address, locks[address].Resolved)
			}
			fmt.Fprintf(a.stderr, "wrote %s\n", spec.LockPath(args[0]))
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable: name=value (repeatable)")
	c.Flags().BoolVar(&update, "update", false, "resolve again what the lock file has already")
	return c
}
