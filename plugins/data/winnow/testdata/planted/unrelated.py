import argparse
import pathlib

import torch
from PIL import Image
from torch import nn
from torchvision import models, transforms


class Leaves(torch.utils.data.Dataset):
    def __init__(self, folder, labels=None):
        self.paths = sorted(pathlib.Path(folder).glob("*.jpg"))
        self.labels = labels
        self.view = transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor()])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        picture = self.view(Image.open(self.paths[i]).convert("RGB"))
        return picture if self.labels is None else (picture, self.labels[self.paths[i].stem])


def build(classes):
    net = models.resnet18(weights=None)
    net.fc = nn.Linear(net.fc.in_features, classes)
    return net


def epoch(net, batches, optimiser):
    loss_sum = 0.0
    for pictures, wanted in batches:
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(pictures), wanted)
        loss.backward()
        optimiser.step()
        loss_sum += loss.item()
    return loss_sum / len(batches)


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
options = parser.parse_args()
net = build(99)
optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3)
for n in range(options.epochs):
    print(n, epoch(net, torch.utils.data.DataLoader(Leaves("train"), batch_size=64), optimiser))
