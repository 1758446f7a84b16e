package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodConfig configures how RunPod starts the container of a pod.
type PodConfig struct {
	Name string
	// Namespace is that of the pod and of what it references.
	Namespace string
	Spec      v1.PodSpec
	// HostFiles maps the paths of hostPath volumes in the pod's spec to files of this machine.
	HostFiles map[string]string
	// User is the user of the kubeconfig that the container gets; by default the pod's service
	// account, with its own token.
	User User
}

// Pod is the process of a pod's container.
type Pod struct {
	*Process
	// Port is where it listens, instead of the port in its arguments.
	Port int
	// Env is the container's environment in addition to that of this process.
	Env []string

	spec  v1.Container
	ports map[string]int32 // by name, as the spec has them
}

// RunPod acts as a kubelet for a Berth pod with one container: it creates the volumes,
// including ConfigMaps from the API server, and runs the program with the container's arguments
// and environment. Paths in both are replaced by where the volumes are on this machine, the
// port by a free one, and the kubeconfig, for which a container uses its service account, is
// passed as an additional argument.
func (c *Cluster) RunPod(ctx context.Context, p PodConfig) (*Pod, error) {
	if len(p.Spec.Containers) != 1 {
		return nil, fmt.Errorf("pod %s has %d containers, not one", p.Name, len(p.Spec.Containers))
	}
	pod := &Pod{spec: p.Spec.Containers[0], ports: make(map[string]int32)}
	for _, port := range pod.spec.Ports {
		pod.ports[port.Name] = port.ContainerPort
	}
	dir := c.path("pod-" + p.Name)
	volumes := make(map[string]string) // paths by name
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		path := filepath.Join(dir, v.Name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		var err error
		if volumes[v.Name], err = c.volume(ctx, p, v, path); err != nil {
			return nil, fmt.Errorf("pod %s: volume %s: %w", p.Name, v.Name, err)
		}
	}
	mounts := slices.Clone(pod.spec.VolumeMounts)
	slices.SortFunc(mounts, func(a, b v1.VolumeMount) int { return len(b.MountPath) - len(a.MountPath) })
	local := func(text string) string {
		for _, m := range mounts {
			if i := strings.Index(text, m.MountPath); i == 0 || i > 0 && text[i-1] == '=' {
				return text[:i] + filepath.Join(volumes[m.Name], m.SubPath) + text[i+len(m.MountPath):]
			}
		}
		return text
	}
	for _, m := range mounts {
		if _, err := os.Stat(filepath.Join(volumes[m.Name], m.SubPath)); err != nil {
			return nil, fmt.Errorf("pod %s: what is mounted at %s: %w", p.Name, m.MountPath, err)
		}
	}
	for _, e := range pod.spec.Env {
		pod.Env = append(pod.Env, e.Name+"="+local(e.Value))
	}
	var err error
	if pod.Port, err = FreePort(); err != nil {
		return nil, err
	}
	args, err := c.containerArgs(ctx, p, pod, local)
	if err != nil {
		return nil, err
	}
	pod.Process, err = c.run(p.Name, "env", slices.Concat(pod.Env, []string{c.config.Binaries.Berth}, args)...)
	return pod, err
}

func (c *Cluster) containerArgs(ctx context.Context, p PodConfig, pod *Pod, local func(string) string) ([]string, error) {
	var args []string
	ported := false
	for _, arg := range pod.spec.Args {
		if strings.HasPrefix(arg, "--secure-port=") {
			arg, ported = "--secure-port="+strconv.Itoa(pod.Port), true
		}
		args = append(args, local(arg))
	}
	if !ported {
		return nil, fmt.Errorf("pod %s has no argument --secure-port", p.Name)
	}
	if p.User == "" {
		kubeconfig, err := c.serviceAccountKubeconfig(ctx, p.Namespace, p.Spec.ServiceAccountName)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.Name, err)
		}
		args = append(args, "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1")
	}
	return args, nil
}

// volume returns where a volume is on this machine: at path, if it is created there.
func (c *Cluster) volume(ctx context.Context, p PodConfig, v *v1.Volume, path string) (string, error) {
	switch {
	case v.ConfigMap != nil:
		config, err := c.admin.CoreV1().ConfigMaps(p.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for name, text := range config.Data {
			if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
				return "", err
			}
		}
		return path, nil
	case v.EmptyDir != nil, v.Image != nil: // there is no registry, so an image is empty
		return path, nil
	case v.HostPath != nil:
		if file, ok := p.HostFiles[v.HostPath.Path]; ok {
			return file, nil
		}
		if kind := v.HostPath.Type; kind != nil && *kind == v1.HostPathDirectoryOrCreate {
			return path, nil
		}
		return "", fmt.Errorf("%s does not exist", v.HostPath.Path)
	}
	return "", errors.New("objects of this kind are not supported")
}

// serviceAccountKubeconfig writes a kubeconfig with a token that the API server has issued
// for a service account.
func (c *Cluster) serviceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	token, err := c.admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	}
	return c.kubeconfig(token.Status.Token, "")
}

// Probe runs a probe of the pod as a kubelet does.
func (p *Pod) Probe(ctx context.Context, probe *v1.Probe, client *http.Client) error {
	get := probe.HTTPGet
	port := get.Port.IntVal
	if get.Port.StrVal != "" {
		port = p.ports[get.Port.StrVal]
	}
	if port == 0 || !slices.Contains(p.spec.Args, fmt.Sprintf("--secure-port=%d", port)) {
		return fmt.Errorf("the probe uses port %s, where nothing listens", get.Port.String())
	}
	url := fmt.Sprintf("%s://%s%s", strings.ToLower(string(get.Scheme)), hostPort(p.Port), get.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read for its status
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", get.Path, response.Status)
	}
	return nil
}
