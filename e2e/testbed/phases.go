package testbed

import "context"

// startStores starts the components that do not depend on others.
func (u *up) startStores(ctx context.Context) error {
	components := []component{u.etcd(), u.redis()}
	for _, n := range u.nodes {
		holder, err := u.mountNamespace(n)
		if err != nil {
			return err
		}
		components = append(components, holder)
	}
	return u.startAll(ctx, components...)
}

func (u *up) startServers(ctx context.Context) error {
	server, err := u.apiServer()
	if err != nil {
		return err
	}
	components := []component{server}
	for _, n := range u.nodes {
		containerd, err := u.containerd(n)
		if err != nil {
			return err
		}
		components = append(components, containerd)
	}
	return u.startAll(ctx, components...)
}

func (u *up) startRest(ctx context.Context) error {
	scheduler, err := u.scheduler()
	if err != nil {
		return err
	}
	dns, err := u.coreDNS()
	if err != nil {
		return err
	}
	components := []component{u.controllerManager(), scheduler, dns}
	for _, n := range u.nodes {
		kubelet, err := u.kubelet(n)
		if err != nil {
			return err
		}
		components = append(components, kubelet)
	}
	if u.options.KubeProxy {
		proxy, err := u.kubeProxy()
		if err != nil {
			return err
		}
		components = append(components, proxy)
	}
	return u.startAll(ctx, components...)
}
