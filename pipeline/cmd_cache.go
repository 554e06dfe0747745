package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"pgpipeline/pipeline/engine"
	"pgpipeline/pipeline/internal/store"
)

func cacheCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "List, trim and verify the cache",
		Long: "The cache is in $PIPELINE_CACHE; else, for root, in /var/cache/pipeline (the account that servers run as cannot enter\nroot's home); else in pipeline below $XDG_CACHE_HOME or ~/.cache."}
	c.AddCommand(cacheList(a), cacheTrim(a), cacheVerify(a))
	return c
}

func cacheList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List entries with their sizes and last use", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := store.Open("", store.Options{})
			if err != nil {
				return err
			}
			entries, err := s.List()
			if err != nil {
				return err
			}
			var total int64
			tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(tw, "KEY\tKIND\tSIZE\tLAST USED\tMADE AS")
			for _, l := range entries {
				if l.Entry == nil {
					fmt.Fprintf(tw, "%s\t?\t?\t\t%s\n", l.Key[:12], l.Damage)
					continue
				}
				total += l.Entry.Bytes
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", l.Key[:12], l.Entry.Kind, humanize.IBytes(uint64(l.Entry.Bytes)), humanize.Time(l.LastUsed), l.Entry.Label)
			}
			if err := tw.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%d entries, %s in %s\n", len(entries), humanize.IBytes(uint64(total)), s.Dir())
			return nil
		},
	}
}

func cacheTrim(a *app) *cobra.Command {
	var size string
	var opt store.GCOptions
	var keep []string
	c := &cobra.Command{
		Use: "gc", Short: "Remove the entries that were not used for longest", Args: cobra.NoArgs,
		Long: "Removes entries until the limits hold. What a live run uses stays, and what the experiments given with --keep need.",
		RunE: func(c *cobra.Command, args []string) error {
			limit, err := humanize.ParseBytes(size)
			if err != nil {
				return usage("--max-size %q: write it as 50GB", size)
			}
			s, err := store.Open("", store.Options{})
			if err != nil {
				return err
			}
			opt.MaxBytes = int64(limit)
			if opt.Keep, err = a.keysOf(c, keep); err != nil {
				return err
			}
			sum, err := s.GC(c.Context(), opt)
			if err != nil {
				return err
			}
			printTrim(a.stdout, sum, opt.DryRun)
			return nil
		},
	}
	c.Flags().StringVar(&size, "max-size", "50GB", "size of the cache to trim to")
	c.Flags().DurationVar(&opt.MaxAge, "max-age", 0, "remove what was not used for so long (0: no limit)")
	c.Flags().BoolVar(&opt.DryRun, "dry-run", false, "only say what would be removed")
	c.Flags().StringSliceVar(&keep, "keep", nil, "experiment files whose entries stay")
	return c
}

func printTrim(w io.Writer, r store.GCResult, dry bool) {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, gone := range r.Removed {
		fmt.Fprintf(w, "%s %s: %s\n", verb, gone.Key[:12], gone.Why)
	}
	fmt.Fprintf(w, "%s %d entries, %s; %d stay, %s", verb, len(r.Removed), humanize.IBytes(uint64(r.Freed)), r.Kept, humanize.IBytes(uint64(r.KeptBytes)))
	if r.Needed > 0 {
		fmt.Fprintf(w, "; %d beyond the limits stay because they are needed", r.Needed)
	}
	fmt.Fprintln(w)
}

// keysOf are the keys that experiments need.
func (a *app) keysOf(c *cobra.Command, files []string) ([]string, error) {
	var keys []string
	for _, file := range files {
		_, plan, err := a.planned(c.Context(), file, nil, engine.PlanOptions{})
		if err != nil {
			return nil, err
		}
		for _, n := range plan.Nodes {
			keys = append(keys, n.Key)
		}
	}
	return keys, nil
}

func cacheVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Read every file of every entry and compare its checksum", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := store.Open("", store.Options{})
			if err != nil {
				return err
			}
			seen := 0
			bad, err := s.VerifyAll(c.Context(), func(l store.Listed, err error) {
				seen++
				if err != nil {
					fmt.Fprintf(a.stdout, "%s: %v\n", l.Key[:12], err)
				}
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%d entries, %d damaged; a damaged one is made again when it is next needed\n", seen, bad)
			if bad > 0 {
				return &codeError{code: exitInfrastructure}
			}
			return nil
		},
	}
}
