-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_voucher ADD COLUMN guards VARCHAR(2048) NOT NULL DEFAULT '';
