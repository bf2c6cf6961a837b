// Promql checks dashboards and alert rules against what the coordinator really exposes: each query is parsed, each metric and
// label in it has to exist, and it is run on the scrapes by Prometheus's own engine.
//
//	promql --scrape a.txt --scrape b.txt ... --rules alerts.yaml --dashboard fleet.json
//
// Scrapes are taken to be 15 s apart. One line for each query; status 1 when one is wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

const apart = 15 * time.Second

type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// What the scrapes hold: labels by metric name. Metrics that are announced but have no series yet have none.
type known map[string]map[string]bool

type query struct{ where, expr string }

func main() {
	var scrapes, rules, dashboards list
	flag.Var(&scrapes, "scrape", "a scrape, oldest first")
	flag.Var(&rules, "rules", "a file of alert rules")
	flag.Var(&dashboards, "dashboard", "a Grafana dashboard")
	flag.Parse()
	wrong, err := run(scrapes, rules, dashboards)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if wrong > 0 {
		fmt.Fprintf(os.Stderr, "%d queries are wrong\n", wrong)
		os.Exit(1)
	}
}

func run(scrapes, rules, dashboards list) (int, error) {
	folder, err := os.MkdirTemp("", "promql")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	db, err := tsdb.Open(folder, slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	start := time.Now().Add(-time.Duration(len(scrapes)) * apart).Truncate(time.Second)
	exposed := known{}
	for i, file := range scrapes {
		if err := load(db, exposed, file, start.Add(time.Duration(i)*apart)); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
	}
	var queries []query
	for _, file := range rules {
		found, err := ofRules(file)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		queries = append(queries, found...)
	}
	for _, file := range dashboards {
		found, err := ofDashboard(file)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		queries = append(queries, found...)
	}
	if len(queries) == 0 {
		return 0, errors.New("no queries were found")
	}
	engine := promql.NewEngine(promql.EngineOpts{
		Timeout:    10 * time.Second,
		MaxSamples: 1_000_000,
		Parser:     parser.NewParser(parser.Options{}),
	})
	at := start.Add(time.Duration(len(scrapes)-1) * apart)
	wrong := 0
	for _, q := range queries {
		series, err := check(engine, db, exposed, q.expr, at)
		if err != nil {
			wrong++
			fmt.Printf("WRONG %s: %v: %s\n", q.where, err, q.expr)
			continue
		}
		fmt.Printf("ok %s: %d series: %s\n", q.where, series, q.expr)
	}
	return wrong, nil
}

// Loads a scrape as if Prometheus had taken it at that time.
func load(db *tsdb.DB, exposed known, file string, at time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	parse, err := textparse.New(text, "application/openmetrics-text; version=1.0.0", labels.NewSymbolTable(), textparse.ParserOptions{})
	if parse == nil {
		return err
	}
	appender := db.Appender(context.Background())
	for {
		entry, err := parse.Next()
		if errors.Is(err, io.EOF) {
			return appender.Commit()
		}
		if err != nil {
			return err
		}
		switch entry {
		case textparse.EntryType:
			name, kind := parse.Type()
			for _, suffix := range suffixes(kind) {
				if exposed[string(name)+suffix] == nil {
					exposed[string(name)+suffix] = map[string]bool{}
				}
			}
		case textparse.EntrySeries:
			_, _, value := parse.Series()
			var found labels.Labels
			parse.Labels(&found)
			of := exposed[found.Get(labels.MetricName)]
			if of == nil {
				return fmt.Errorf("%s has no type", found.Get(labels.MetricName))
			}
			found.Range(func(l labels.Label) { of[l.Name] = true })
			full := labels.NewBuilder(found).Set("job", "skein-coordinator").Set("instance", "test").Labels()
			if _, err := appender.Append(0, full, at.UnixMilli(), value); err != nil {
				return err
			}
		}
	}
}

func suffixes(kind model.MetricType) []string {
	switch kind {
	case model.MetricTypeCounter:
		return []string{"_total"}
	case model.MetricTypeHistogram:
		return []string{"_bucket", "_sum", "_count"}
	default:
		return []string{""}
	}
}

func check(engine *promql.Engine, db *tsdb.DB, exposed known, expr string, at time.Time) (int, error) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return 0, err
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is || err != nil || selector.Name == "up" {
			return nil
		}
		of, there := exposed[selector.Name]
		if !there {
			err = fmt.Errorf("there is no metric %s", selector.Name)
			return nil
		}
		for _, matcher := range selector.LabelMatchers {
			switch matcher.Name {
			case labels.MetricName, "job", "instance":
			default:
				if len(of) > 0 && !of[matcher.Name] {
					err = fmt.Errorf("%s has no label %s", selector.Name, matcher.Name)
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	asked, err := engine.NewInstantQuery(context.Background(), db, nil, expr, at)
	if err != nil {
		return 0, err
	}
	defer asked.Close()
	result := asked.Exec(context.Background())
	if result.Err != nil {
		return 0, result.Err
	}
	switch value := result.Value.(type) {
	case promql.Vector:
		return len(value), nil
	case promql.Scalar:
		return 1, nil
	default:
		return 0, fmt.Errorf("a %s is nothing to show", value.Type())
	}
}

func ofRules(file string) ([]query, error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var queries []query
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
				return nil, fmt.Errorf("%s%s lacks a summary, a description or a severity", rule.Alert, rule.Record)
			}
			queries = append(queries, query{rule.Alert + rule.Record, rule.Expr})
		}
	}
	return queries, nil
}

type panel struct {
	Title   string
	Type    string
	Targets []struct{ Expr string }
	Panels  []panel
}

func ofDashboard(file string) ([]query, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var board struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name, Query, Type string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		return nil, err
	}
	// As Grafana fills them in when everything is chosen.
	fill := []string{"$__rate_interval", "1m", "$__range", "5m"}
	for _, variable := range board.Templating.List {
		if variable.Type == "query" {
			fill = append(fill, "$"+variable.Name, ".*")
		}
	}
	filled := strings.NewReplacer(fill...)
	var queries []query
	var walk func([]panel) error
	walk = func(panels []panel) error {
		for _, p := range panels {
			if p.Type != "row" && p.Type != "text" && len(p.Targets) == 0 {
				return fmt.Errorf("panel %q shows nothing", p.Title)
			}
			for _, target := range p.Targets {
				queries = append(queries, query{p.Title, filled.Replace(target.Expr)})
			}
			if err := walk(p.Panels); err != nil {
				return err
			}
		}
		return nil
	}
	return queries, walk(board.Panels)
}
