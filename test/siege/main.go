package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	out := flag.String("out", "", "the file that the report is written to; empty: only to the terminal")
	seeds := flag.Int("seeds", 50, "how many seeds the goal is measured with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *out, *seeds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, seeds int) error {
	text, err := report(ctx, seeds)
	if err != nil {
		return err
	}
	fmt.Print(text)
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
