// Argocd does what Argo CD does with objects, by Argo CD's own packages:
//
//	argocd health --namespace argocd objects.json      one line for each object: its health by the Lua of ConfigMap argocd-cm
//	argocd diff --application app.yaml manifests.yaml   whether each is in sync, with the application's ignoreDifferences
//	argocd sync --application app.yaml manifests.yaml   one sync with the application's options; what is no longer there is pruned
//
// Health is said as by kstatus: "Swarm/alpha Progressing: 1 of 2 fly". A sync gives up after its --timeout.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync"
	synccommon "github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

// The group of Skein's kinds: the cache need not know others.
const group = "skein.dev"

type options struct {
	kubeconfig, namespace, application string
	timeout                            time.Duration
	file                               string
}

func main() {
	logrus.SetOutput(io.Discard)
	klog.SetLogger(logr.Discard())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say health, diff or sync")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the cluster")
	flags.StringVar(&o.namespace, "namespace", "argocd", "the namespace of ConfigMap argocd-cm")
	flags.StringVar(&o.application, "application", "", "a file with an Application")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "how long a sync may take")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	o.file = flags.Arg(0)
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	switch args[0] {
	case "health":
		return o.health(ctx, config)
	case "diff":
		return o.diff(ctx, config)
	case "sync":
		return o.sync(ctx, config)
	default:
		return fmt.Errorf("%s is neither health, diff nor sync", args[0])
	}
}

// What argocd-cm says of kinds.
func (o options) overrides(ctx context.Context, config *rest.Config) (map[string]v1alpha1.ResourceOverride, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return settings.NewSettingsManager(ctx, clients, o.namespace).GetResourceOverrides()
}

func (o options) health(ctx context.Context, config *rest.Config) error {
	overrides, err := o.overrides(ctx, config)
	if err != nil {
		return err
	}
	in, err := os.Open(o.file)
	if err != nil {
		return err
	}
	defer in.Close()
	say := func(object *unstructured.Unstructured) error {
		is, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides(overrides))
		if err != nil {
			return fmt.Errorf("%s/%s: %w", object.GetKind(), object.GetName(), err)
		}
		if is == nil {
			is = &health.HealthStatus{Status: "None", Message: "Argo CD takes it for healthy"}
		}
		_, err = fmt.Printf("%s/%s %s: %s\n", object.GetKind(), object.GetName(), is.Status, is.Message)
		return err
	}
	objects := json.NewDecoder(in)
	for {
		// As Argo CD gets them: numbers are int64 where they can be.
		var raw json.RawMessage
		if err := objects.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var one unstructured.Unstructured
		if err := one.UnmarshalJSON(raw); err != nil {
			return err
		}
		if !one.IsList() {
			if err := say(&one); err != nil {
				return err
			}
			continue
		}
		each := func(item runtime.Object) error { return say(item.(*unstructured.Unstructured)) }
		if err := one.EachListItem(each); err != nil {
			return err
		}
	}
}

// The application, and what Git holds for it, with the mark by which Argo CD knows its objects.
func (o options) read() (*v1alpha1.Application, []*unstructured.Unstructured, error) {
	var app v1alpha1.Application
	text, err := os.ReadFile(o.application)
	if err != nil {
		return nil, nil, err
	}
	if err := yaml.UnmarshalStrict(text, &app); err != nil {
		return nil, nil, err
	}
	text, err = os.ReadFile(o.file)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := kube.SplitYAML(text)
	if err != nil {
		return nil, nil, err
	}
	for _, object := range wanted {
		err := tracking.SetAppInstance(object, common.LabelKeyAppInstance, app.Name, object.GetNamespace(), v1alpha1.TrackingMethodAnnotation, "")
		if err != nil {
			return nil, nil, err
		}
	}
	return &app, wanted, nil
}

var tracking = argo.NewResourceTracking()

type onlyOurs struct{}

func (onlyOurs) IsExcludedResource(of, _, _ string) bool { return of != group }

// What Argo CD knows of the cluster.
func known(config *rest.Config, overrides map[string]v1alpha1.ResourceOverride) cache.ClusterCache {
	populate := func(object *unstructured.Unstructured, _ bool) (any, bool) {
		name := tracking.GetAppName(object, common.LabelKeyAppInstance, v1alpha1.TrackingMethodAnnotation, "")
		return name, name != ""
	}
	return cache.NewClusterCache(config,
		cache.SetSettings(cache.Settings{ResourceHealthOverride: lua.ResourceHealthOverrides(overrides), ResourcesFilter: onlyOurs{}}),
		cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(populate))
}

func (o options) diff(ctx context.Context, config *rest.Config) error {
	app, wanted, err := o.read()
	if err != nil {
		return err
	}
	overrides, err := o.overrides(ctx, config)
	if err != nil {
		return err
	}
	cluster := known(config, overrides)
	if err := cluster.EnsureSynced(); err != nil {
		return err
	}
	lives, err := cluster.GetManagedLiveObjs(wanted, managedBy(app))
	if err != nil {
		return err
	}
	both := sync.Reconcile(wanted, lives, app.Spec.Destination.Namespace, cluster)
	how, err := diff.NewDiffConfigBuilder().
		WithDiffSettings(app.Spec.IgnoreDifferences, overrides, false, normalizers.IgnoreNormalizerOpts{}).
		WithTracking(common.LabelKeyAppInstance, string(v1alpha1.TrackingMethodAnnotation)).
		WithNoCache().
		WithGVKParser(cluster.GetGVKParser()).
		WithManager(common.ArgoCDSSAManager).
		Build()
	if err != nil {
		return err
	}
	found, err := diff.StateDiffs(both.Live, both.Target, how)
	if err != nil {
		return err
	}
	for i, one := range found.Diffs {
		object := both.Target[i]
		if object == nil {
			object = both.Live[i]
		}
		word := "Synced"
		if one.Modified || both.Target[i] == nil || both.Live[i] == nil {
			word = "OutOfSync"
		}
		fmt.Printf("%s/%s %s\n", object.GetKind(), object.GetName(), word)
	}
	return nil
}

func managedBy(app *v1alpha1.Application) func(*cache.Resource) bool {
	return func(r *cache.Resource) bool { return r.Info == app.Name }
}

// As an automated sync does it: what Git does not hold is pruned if the application says so.
func (o options) sync(ctx context.Context, config *rest.Config) error {
	app, wanted, err := o.read()
	if err != nil {
		return err
	}
	overrides, err := o.overrides(ctx, config)
	if err != nil {
		return err
	}
	policy := app.Spec.SyncPolicy
	if policy == nil {
		policy = &v1alpha1.SyncPolicy{}
	}
	has := policy.SyncOptions.HasOption
	prune := policy.Automated != nil && policy.Automated.Prune
	engine := engine.NewEngine(config, known(config, overrides), engine.WithLogr(logr.Discard()))
	stop, err := engine.Run()
	if err != nil {
		return err
	}
	defer stop()
	foreground := metav1.DeletePropagationForeground
	results, err := engine.Sync(ctx, wanted, managedBy(app), "1", app.Spec.Destination.Namespace,
		sync.WithLogr(logr.Discard()),
		sync.WithHealthOverride(lua.ResourceHealthOverrides(overrides)),
		sync.WithPrune(prune),
		sync.WithPrunePropagationPolicy(&foreground),
		sync.WithReplace(has(synccommon.SyncOptionReplace)),
		sync.WithServerSideApply(has(synccommon.SyncOptionServerSideApply)),
		sync.WithServerSideApplyManager(common.ArgoCDSSAManager),
		sync.WithClientSideApplyMigration(!has(synccommon.SyncOptionDisableClientSideApplyMigration), "kubectl-client-side-apply"),
	)
	failed := 0
	for _, one := range results {
		if one.Status == synccommon.ResultCodeSyncFailed {
			failed++
		}
		fmt.Printf("%s/%s %s: %s\n", one.ResourceKey.Kind, one.ResourceKey.Name, one.Status, one.Message)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d failed", failed)
	}
	return err
}
