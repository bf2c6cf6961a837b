// Flux does what Flux's kustomize-controller does with objects, by Flux's own packages:
//
//	flux apply manifests.yaml    applies them, with the options that the controller has; one line for each object
//	flux wait manifests.yaml     as `wait: true`: returns when each is reconciled; status 1 and why when not within --timeout
//	flux delete manifests.yaml   as `prune: true` does with objects that have left Git
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// As kustomize-controller has them.
const (
	controller = "kustomize-controller"
	group      = "kustomize.toolkit.fluxcd.io"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say apply, wait or delete")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the cluster")
	force := flags.Bool("force", false, "spec.force of the Kustomization")
	ignore := flags.String("ignore", "", "a path of spec.ignore of the Kustomization")
	timeout := flags.Duration("timeout", time.Minute, "spec.timeout of the Kustomization")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	objects, err := utils.ReadObjects(file)
	if err != nil {
		return err
	}
	poller := polling.NewStatusPoller(api, api.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(api, poller, ssa.Owner{Field: controller, Group: group})
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	manager.SetOwnerLabels(objects, "field", "flux-system")
	switch args[0] {
	case "apply":
		done, err := manager.ApplyAllStaged(ctx, objects, applyOptions(*force, *ignore))
		tell(done)
		return err
	case "wait":
		return manager.Wait(objects, ssa.WaitOptions{Interval: time.Second, Timeout: *timeout})
	case "delete":
		done, err := manager.DeleteAll(ctx, objects, ssa.DeleteOptions{
			PropagationPolicy: metav1.DeletePropagationBackground,
			Inclusions:        manager.GetOwnerLabels("field", "flux-system"),
			Exclusions:        map[string]string{group + "/prune": "disabled", group + "/reconcile": "disabled"},
		})
		tell(done)
		return err
	default:
		return fmt.Errorf("%s is neither apply, wait nor delete", args[0])
	}
}

func tell(done *ssa.ChangeSet) {
	if done == nil {
		return
	}
	for _, entry := range done.Entries {
		fmt.Println(entry.String())
	}
}

func applyOptions(force bool, ignore string) ssa.ApplyOptions {
	options := ssa.DefaultApplyOptions()
	options.Force = force
	options.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "ignore"}
	options.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	options.ForceSelector = map[string]string{group + "/force": "enabled"}
	if ignore != "" {
		options.DriftIgnoreRules = []jsondiff.IgnoreRule{{Paths: []string{ignore}}}
	}
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		// What kubectl has written is Flux's from then on, and what Git does not hold of it goes.
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: controller, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	return options
}
