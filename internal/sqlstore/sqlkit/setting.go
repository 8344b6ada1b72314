package sqlkit

import "time"

// SettingRow is what all instances agree on: a key, as a rule.
type SettingRow struct {
	Name       string    `gorm:"column:name;primaryKey"`
	Value      []byte    `gorm:"column:value"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (SettingRow) TableName() string { return "tb_setting" }
