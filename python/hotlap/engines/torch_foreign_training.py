"""Training of a torch user's own module: its parameters, its buffers, maybe its own loss."""
from hotlap.engines import foreign, torch_training
from hotlap.engines.torch_foreign import Adapter


class Learnt(torch_training.Learnt):
    def take(self, model, device):
        module = model.module.to(device)
        return {**dict(module.named_parameters()), **dict(module.named_buffers())}


class Program(torch_training.Program):
    learnt_class = Learnt

    def network(self, model, specification):
        self.outputs, self.own_loss, self.name, self.drops = model.outputs, model.loss, model.name, \
            True
        return Adapter(model.module.train(), model.arguments).train()

    def loss_of(self, results, targets):
        if not self.own_loss:
            return super().loss_of(results, targets)
        return foreign.loss_of(self, results, targets)
