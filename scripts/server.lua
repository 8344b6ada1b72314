-- Prelude of scripts that ask which run of which server they are on. A restart or a failover may have lost the latest
-- writes, and what follows would fill the gap that shows the loss.

local section -- what server_info returns, once it is known

-- server_info returns Redis's section about this server; '' where it cannot be had: some servers forbid INFO, and
-- miniredis has no such section.
local function server_info()
  if not section then
    section = redis.pcall('INFO', 'server')
    section = type(section) == 'string' and section or ''
  end
  return section
end

-- run_id returns the run id of this server, '' where it is not known.
local function run_id()
  return string.match(server_info(), 'run_id:(%x+)') or ''
end

-- other_server tells whether another server, or another run of this one, opened a sale; no where this is not known. It
-- looks for the text, which costs a seventh of matching the pattern of run_id.
--
-- opened  the sale's field server; false where there is none
local function other_server(opened)
  if not opened then
    return false
  end
  local text = server_info()
  return text ~= '' and not string.find(text, opened, 1, true)
end
