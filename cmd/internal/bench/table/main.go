// Table reads what "go test -bench" prints, passes it on, and ends with the
// ratios that the project aims at: how fast an order with Nebis is beside the
// naive recipe and beside no guard at all. It takes the median of all counts.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
)

var (
	line   = regexp.MustCompile(`^BenchmarkOrder/([^/]+)/(\d+?)(?:-\d+)?\s`)
	metric = regexp.MustCompile(`([0-9.e+]+) (\w+)-ns\b`)
)

type place struct{ database, clients string }

func main() {
	order, rates := read(os.Stdin, os.Stdout)
	ratios(os.Stdout, order, rates)
}

// read collects orders per second by place and way.
func read(r io.Reader, echo io.Writer) (order []place, rates map[place]map[string][]float64) {
	rates = map[place]map[string][]float64{}
	in := bufio.NewScanner(r)
	for in.Scan() {
		fmt.Fprintln(echo, in.Text())
		m := line.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		p := place{m[1], m[2]}
		if rates[p] == nil {
			rates[p] = map[string][]float64{}
			order = append(order, p)
		}
		for _, v := range metric.FindAllStringSubmatch(in.Text(), -1) {
			if ns, err := strconv.ParseFloat(v[1], 64); err == nil {
				rates[p][v[2]] = append(rates[p][v[2]], 1e9/ns)
			}
		}
	}
	return order, rates
}

func ratios(w io.Writer, order []place, rates map[place]map[string][]float64) {
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(w, "\nOrders per second, medians, and ratios:")
	fmt.Fprintf(w, "%-22s %7s %10s %8s %8s %8s %13s %17s %13s\n", "database", "clients", "unguarded", "naive", "nebis", "replay", "nebis/naive", "nebis/unguarded", "replay/nebis")
	for _, p := range order {
		u, n, g, r := median(rates[p]["unguarded"]), median(rates[p]["naive"]), median(rates[p]["nebis"]), median(rates[p]["replay"])
		fmt.Fprintf(w, "%-22s %7s %10.0f %8.0f %8.0f %8.0f %13.2f %17.2f %13.1f\n", p.database, p.clients, u, n, g, r, g/n, g/u, r/g)
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
