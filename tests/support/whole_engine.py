"""The fake engine with the routes that few commands need: it lists, commits, pauses, signals and restarts."""
import hashlib
import json

from fake_engine import Engine, Refused, image, refusal, response


class WholeEngine(Engine):
    def image_list(self, request):
        filters = json.loads(request.query["filters"])
        rows = {}
        for name, doc in self.images.items():
            row = rows.setdefault(doc["Id"], {
                "Id": doc["Id"], "RepoTags": [],
                "RepoDigests": doc["RepoDigests"], "Labels": doc["Config"]["Labels"],
                "Created": doc.get("Created", 0), "Size": 1})
            if name != doc["Id"]:
                row["RepoTags"].append(name)
        found = []
        for row in rows.values():
            labels = row["Labels"] or {}
            wanted = [w.partition("=")[::2] for w in filters.get("label", ())]
            if all(labels.get(k) == v for k, v in wanted) and not (
                    "dangling" in filters and row["RepoTags"]):
                found.append(row)
        if "reference" in filters:
            found = [r for r in found if any(n.startswith(filters["reference"][0] + ":")
                                             for n in r["RepoTags"])]
        return response(200, found)

    def container_list(self, request):
        if request.query.get("filters"):
            return super().container_list(request)
        return response(200, [{"Id": c.id, "ImageID": c.spec["Image"]}
                              for c in self.containers.values()])

    def commit(self, request):
        c = self.find_container(request.query["container"])
        spec = c.spec
        _, base = self.find_image(c.spec["Image"])
        config = dict(base["Config"], OnBuild=None, Entrypoint=spec["Entrypoint"],
                      Labels=dict(base["Config"]["Labels"] or {}, **spec["Labels"]),
                      Healthcheck=spec.get("Healthcheck"))
        name = f"{request.query['repo']}:{request.query['tag']}"
        self.committed = dict(c.files)
        made = image("sha256:" + hashlib.sha256(request.body).hexdigest(),
                     base["RootFS"]["Layers"] + ["ours"], [name], config)
        self.images[name] = made
        return response(201, {"Id": made["Id"]})

    def info(self, request):
        return response(200, {"OperatingSystem": "Linux", "Architecture": "x86_64", "OSType": "linux",
                              "ServerVersion": "1", "Runtimes": {"runc": {}}, "SecurityOptions": []})

    def container_pause(self, request, name):
        self.container_of(name).state = "paused"
        return response(204)

    def container_unpause(self, request, name):
        self.container_of(name).state = "running"
        return response(204)

    def container_kill(self, request, name):
        c = self.container_of(name)
        if c.state != "running":
            raise Refused(refusal(409, "Container is not running"))
        return response(204)

    def container_wait(self, request, name):
        return response(200, {"StatusCode": self.container_of(name).exit_code})

    def container_restart(self, request, name):
        c = self.container_of(name)
        c.state, c.port = "running", self.sandbox(self).port
        return response(204)

    def exec_inspect(self, request, id_):
        c, _ = self.execs[id_]
        return response(200, {"ID": id_, "Running": False, "ExitCode": 0, "ContainerID": c.id})

    def exec_resize(self, request, id_):
        return response(200)

    ROUTES = [("GET", "/images/json", image_list), ("POST", "/commit", commit),
              ("GET", "/containers/json", container_list), ("GET", "/info", info),
              ("POST", "/containers/(.+)/pause", container_pause),
              ("POST", "/containers/(.+)/unpause", container_unpause),
              ("POST", "/containers/(.+)/kill", container_kill),
              ("POST", "/containers/(.+)/wait", container_wait),
              ("POST", "/containers/(.+)/restart", container_restart),
              ("GET", "/exec/(.+)/json", exec_inspect),
              ("POST", "/exec/(.+)/resize", exec_resize)] + Engine.ROUTES
