-- Prelude of scripts that need to know on which run of which server they are. A restart or a failover may have lost the
-- latest writes, and new writes would hide that loss.

local section -- cached result of server_info

-- server_info returns the section "server" of INFO, or '' if it is not available: some servers forbid INFO, and
-- miniredis has no such section.
local function server_info()
  if not section then
    section = redis.pcall('INFO', 'server')
    section = type(section) == 'string' and section or ''
  end
  return section
end

-- run_id returns this server's run id, or '' if unknown.
local function run_id()
  return string.match(server_info(), 'run_id:(%x+)') or ''
end

-- other_server reports whether another server, or another run of this one, opened a sale; false if unknown. It searches
-- for the text, which costs a seventh of matching run_id's pattern.
--
-- opened  the sale's field server; false if missing
local function other_server(opened)
  if not opened then
    return false
  end
  local text = server_info()
  return text ~= '' and not string.find(text, opened, 1, true)
end
