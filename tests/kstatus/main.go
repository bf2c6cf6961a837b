// Kstatus says of objects what tools that wait for objects say of them (Flux, and whatever else uses kstatus): it reads a file
// of objects as kubectl prints them in JSON, one after the other or as Lists, and writes one line for each:
//
//	kstatus objects.json
//	Swarm/alpha InProgress: 1 of 2 fly as asked
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := tellAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tellAll() error {
	if len(os.Args) != 2 {
		return errors.New("give one file of objects in JSON")
	}
	in, err := os.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer in.Close()
	return run(in, os.Stdout)
}

func run(in io.Reader, out io.Writer) error {
	objects := json.NewDecoder(in)
	for {
		// As the tools get them: numbers are int64 where they can be.
		var raw json.RawMessage
		if err := objects.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var one unstructured.Unstructured
		if err := one.UnmarshalJSON(raw); err != nil {
			return err
		}
		if one.IsList() {
			if err := one.EachListItem(func(item runtime.Object) error {
				return report(item.(*unstructured.Unstructured), out)
			}); err != nil {
				return err
			}
			continue
		}
		if err := report(&one, out); err != nil {
			return err
		}
	}
}

func report(object *unstructured.Unstructured, out io.Writer) error {
	result, err := status.Compute(object)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", object.GetKind(), object.GetName(), err)
	}
	_, err = fmt.Fprintf(out, "%s/%s %s: %s\n", object.GetKind(), object.GetName(), result.Status, result.Message)
	return err
}
