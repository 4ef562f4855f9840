"""It never clears the gradients, so they add up from batch to batch."""

from sampan import learn


@learn.exercise("hapi.train_epoch")
def train_epoch(network, batches, loss_function, optimizer, after_batch):
    for inputs, labels in batches:
        outputs = network(*inputs)
        loss = loss_function(outputs, *labels)
        loss.backward()
        optimizer.step()
        after_batch(loss, outputs, labels)
